// Files that came with a message, made ready for the agent: pictures that it can see, and copies in its workspace that
// it can read. The originals stay in the media folder, which no agent may touch.
import { chmod, copyFile, mkdir, readFile } from 'node:fs/promises'
import { basename, relative } from 'node:path'
import type { Media } from '../../domain/message.ts'
import { attachmentPath } from './media-files.ts'
import type { WaitingInput } from '../work-store.ts'

/** What the model takes. */
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

/** The input with its files where the agent can read them. */
export async function withFiles(input: WaitingInput, workspace: string): Promise<WaitingInput> {
  const { message } = input
  if (message.media.length === 0) return input
  return { ...input, message: { ...message, media: await bringToWorkspace(workspace, message.media) } }
}

/** The same files under names of our own in `attachments/`, with paths as the agent sees them. */
async function bringToWorkspace(workspace: string, media: readonly Media[]): Promise<Media[]> {
  await mkdir(attachmentPath(workspace, ''), { recursive: true, mode: 0o700 })
  return Promise.all(
    media.map(async (file) => {
      const copy = attachmentPath(workspace, basename(file.path))
      await copyFile(file.path, copy)
      await chmod(copy, 0o600)
      return { ...file, path: relative(workspace, copy) }
    }),
  )
}
