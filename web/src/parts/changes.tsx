// The changes that a session made to files, as differences, from the edits in its transcript.
import { useEffect, useState } from 'preact/hooks'
import type { Card, NativeSession } from '../data.ts'
import { count, visible } from '../format.ts'
import { messageOf, useGateway } from '../live.ts'
import { allCards } from './about.tsx'
import { Changes } from './code.tsx'
import { Loading, Problem } from './states.tsx'

interface ChangedFile {
  path: string
  inputs: Array<Record<string, unknown>>
}

export function ChangesTab({ session }: { session: NativeSession }) {
  const gateway = useGateway()
  const [files, setFiles] = useState<ChangedFile[]>()
  const [problem, setProblem] = useState<string>()
  const id = session.sessionId
  useEffect(() => {
    allCards(gateway, id)
      .then((cards) => setFiles(changedFiles(cards)))
      .catch((error: unknown) => setProblem(messageOf(error)))
  }, [gateway, id, session.lastModified])
  if (problem !== undefined) return <Problem text={problem} />
  if (!files) return <Loading />
  const root = `${session.repoPath}/`
  return (
    <section aria-label="Changes">
      <p class="faint">
        {files.length === 0
          ? 'This session has edited no file.'
          : `${count(files.length, 'file')} edited, as the session wrote them, in their order.`}
      </p>
      {files.map(({ path, inputs }) => (
        <details key={path} open>
          <summary>
            <code>{visible(path.startsWith(root) ? path.slice(root.length) : path)}</code>{' '}
            <span class="faint">{count(inputs.length, 'edit')}</span>
          </summary>
          {inputs.map((input, i) => (
            <Changes key={i} input={input} />
          ))}
        </details>
      ))}
    </section>
  )
}

const editing = new Set(['Edit', 'MultiEdit', 'Write'])

/** By file, in the order of the first edit. Edits that failed are left out. */
export function changedFiles(cards: Card[]): ChangedFile[] {
  const failed = new Set(
    cards.flatMap((card) => (card.kind === 'result' && card.isError ? [card.toolUseId] : [])),
  )
  const edits = cards.flatMap(({ tool, toolUseId }) => {
    const path = tool?.input['file_path']
    const isEdit = tool && editing.has(tool.name) && typeof path === 'string' && !failed.has(toolUseId)
    return isEdit ? [{ path, input: tool.input }] : []
  })
  return [...Map.groupBy(edits, ({ path }) => path)].map(([path, all]) => ({
    path,
    inputs: all.map(({ input }) => input),
  }))
}
