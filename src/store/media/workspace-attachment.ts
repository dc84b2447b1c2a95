// A file that an agent made in its workspace and wants to send: it is copied into the session's own media folder, so
// that what is sent later is what was meant, and nothing else can be sent. It keeps its name, because people see it.
import { randomUUID } from 'node:crypto'
import { chmod, copyFile, mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { asRockpoolError } from '../../domain/errors.ts'
import { outgoingFile, sessionMediaFolder } from './media-files.ts'

export async function attachWorkspaceFile(
  mediaRoot: string,
  workspace: string,
  path: string,
  session: { agentId: string; key: string },
): Promise<{ path: string } | { refused: string }> {
  try {
    const file = await outgoingFile(workspace, resolve(workspace, path))
    const folder = join(sessionMediaFolder(mediaRoot, session.agentId, session.key), randomUUID())
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const copy = join(folder, file.name)
    await copyFile(file.path, copy)
    await chmod(copy, 0o600)
    return { path: copy }
  } catch (error) {
    return { refused: asRockpoolError(error).message }
  }
}
