// What Claude Code keeps beside a transcript, in `<sessionId>/`: the title that a person gave, and whether the session
// is put away. The transcript itself is never written here.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { writeFileAtomically } from '../disk/atomic-file.ts'

export async function writeNativeTitle(transcript: string, title: string): Promise<void> {
  await writeSideFile(transcript, 'custom-title.json', { customTitle: title })
}

export async function writeNativeArchived(transcript: string, archived: boolean): Promise<void> {
  await writeSideFile(transcript, 'archived.json', { archived })
}

async function writeSideFile(transcript: string, name: string, content: object): Promise<void> {
  const folder = transcript.replace(/\.jsonl$/, '')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFileAtomically(join(folder, name), `${JSON.stringify(content)}\n`)
}
