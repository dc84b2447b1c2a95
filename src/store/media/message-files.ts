// Files that came with a message, made ready for the agent: pictures that it can see, and copies in its workspace that
// it can read. The originals stay in the media folder, which no agent may touch.
import { chmod, copyFile, mkdir, readFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import type { Media } from '../../domain/message.ts'
import { attachmentFolder } from './media-files.ts'
import type { WaitingInput } from '../work-store.ts'

/** Picture types that the model accepts. */
const shownTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const largestPicture = 5 * 1_048_576
const mostPictures = 8

export async function picturesOf(
  media: readonly Media[],
): Promise<Array<{ data: string; mimeType: string }>> {
  const shown = media.filter(({ mimeType, bytes }) => shownTypes.has(mimeType) && bytes <= largestPicture)
  return Promise.all(
    shown.slice(0, mostPictures).map(async ({ path, mimeType }) => {
      return { data: (await readFile(path)).toString('base64'), mimeType }
    }),
  )
}

/** Copies the files of an input to where the agent can read them; the paths are relative to `cwd`. */
export async function withFiles(
  input: WaitingInput,
  { workspace, cwd }: { workspace: string; cwd: string },
): Promise<WaitingInput> {
  const { message, agentId, lane } = input
  if (message.media.length === 0) return input
  const folder = await makeAttachmentFolder(workspace, { agentId, key: lane })
  const media = await Promise.all(
    message.media.map(async (file) => {
      const copy = join(folder, basename(file.path))
      await copyFile(file.path, copy)
      await chmod(copy, 0o600)
      return { ...file, path: relative(cwd, copy) }
    }),
  )
  return { ...input, message: { ...message, media } }
}

export async function makeAttachmentFolder(
  workspace: string,
  session: { agentId: string; key: string },
): Promise<string> {
  const folder = attachmentFolder(workspace, session)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  return folder
}
