// Files that the agent sent to the page: images are shown, other files can be saved.
import { useEffect, useState } from 'preact/hooks'
import type { SentFile } from '../data.ts'
import { visible } from '../format.ts'
import type { Gateway } from '../gateway.ts'
import { messageOf, useGateway } from '../live.ts'
import { Problem } from './states.tsx'

/** Image types that cannot contain scripts. */
const pictures = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const maxShownBytes = 5_000_000

export function SentFiles({ files }: { files: SentFile[] }) {
  if (files.length === 0) return null
  return (
    <ul class="files sent" aria-label="Files that were sent">
      {files.map((file) => (
        <li key={`${file.delivery}${file.index}`}>
          <OneFile file={file} />
        </li>
      ))}
    </ul>
  )
}

function OneFile({ file }: { file: SentFile }) {
  const gateway = useGateway()
  const [picture, setPicture] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const failed = (error: unknown): void => setProblem(messageOf(error))
  const isPicture = pictures.has(file.type) && file.bytes <= maxShownBytes
  useEffect(() => {
    if (!isPicture) return
    fetchFile(gateway, file)
      .then((pieces) => setPicture(`data:${file.type};base64,${btoa(pieces.join(''))}`))
      .catch(failed)
  }, [gateway, file.delivery, file.index])
  const save = async (): Promise<void> => {
    const pieces = await fetchFile(gateway, file)
    const bytes = pieces.map((piece) => Uint8Array.from(piece, (char) => char.charCodeAt(0)))
    saveAs(new Blob(bytes, { type: file.type }), file.name)
  }
  return (
    <>
      {picture !== undefined && <img src={picture} alt={visible(file.name)} />}
      <span class="chip">
        {visible(file.name)} <span class="faint">{Math.ceil(file.bytes / 1024)} KB</span>
        <button type="button" class="quiet" onClick={() => void save().catch(failed)}>
          Save
        </button>
      </span>
      {problem !== undefined && <Problem text={problem} />}
    </>
  )
}

/** Loads the bytes as text, in pieces that fit into a frame. */
async function fetchFile(gateway: Gateway, { delivery, index }: SentFile): Promise<string[]> {
  const pieces: string[] = []
  for (let at = 0; ;) {
    const { data, bytes } = await gateway.call('web.file', {
      delivery,
      index,
      at,
    })
    const piece = atob(data)
    pieces.push(piece)
    at += piece.length
    if (at >= bytes || piece.length === 0) return pieces
  }
}

function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
