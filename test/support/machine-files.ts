// Notes of an agent and files that one machine received, on another machine: the real program twice, each with a home of its
// own, the real Claude, one bot. The first machine is killed in the middle of a turn.
import type { ChildProcess } from 'node:child_process'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeClaudeHome, testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { startMessagesApi } from './messages-api.ts'
import type { ApiRequest } from './messages-api.ts'
import { startProgram } from './program.ts'
import { personMessage, TelegramApi } from './telegram-api.ts'
import { configFor, end, pause, start } from './telegram-storm.ts'

export interface FilesMoved {
  replies: string[]
  /** Did Claude see the picture on the machine that went on with the turn? */
  hasPicture: boolean
  /** What Claude read there of the note that it wrote on the other machine. */
  noteRead: string
  /** Files that were sent, in the workspace of the machine that went on. */
  attachments: string[]
  /** Where `rockpool search` finds the word of the note there. */
  foundIn: string[]
}

const person = { id: 7, name: 'Ann' }
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

export async function filesMove(url: string): Promise<FilesMoved> {
  const telegram = await TelegramApi.listen()
  const api = await startMessagesApi()
  const homes = [0, 1].map((n) => makeHomeOf(n, url, api.url, telegram))
  const children: ChildProcess[] = []
  const up = async (n: number): Promise<void> => {
    const { child, ready } = start(homes[n]!)
    children[n] = child
    await ready
  }
  const noteIn = (n: number): string => join(workspaceOf(homes[n]!), 'memory', 'plum.md')
  const shown = async (answer: string): Promise<void> => {
    while (!telegram.shown.some(({ text }) => text.includes(answer))) await pause(50)
  }
  const say = (text: string, more: object = {}): void =>
    void telegram.emit({ message: personMessage(telegram, person, { id: person.id }, text, more) })
  api.script('write it down', [
    { tools: [{ name: 'Write', input: { file_path: noteIn(0), content: 'The plum matters.\n' } }] },
    { text: 'noted' },
  ])
  api.script('look at this', [{ hold: 'killed', text: 'seen' }])
  api.script('what did you note', [
    { tools: [{ name: 'Read', input: { file_path: noteIn(1) } }] },
    { text: 'it was there' },
  ])
  try {
    await up(0)
    say('write it down')
    await shown('noted')
    const file_id = telegram.addFile('photos/p.png', Buffer.from(picture, 'base64'))
    say('', { caption: 'look at this', photo: [{ file_id, file_unique_id: 'p', width: 1, height: 1 }] })
    await api.requested(({ prompt }) => prompt.includes('look at this'), 60_000)
    await up(1)
    await end(children[0]!, 'SIGKILL')
    // Another machine has another disk.
    for (const folder of ['media', 'agents']) rmSync(join(homes[0]!.stateDir, folder), { recursive: true })
    api.release('killed')
    await shown('seen')
    say('what did you note')
    await shown('it was there')
    const found = await startProgram(['search', 'plum', '--json'], homes[1]!.variables).ended
    const { hits } = found.json() as { hits: Array<{ source: string }> }
    const looks = api.calls().filter(({ prompt }) => prompt.includes('look at this'))
    return {
      replies: telegram.shown.map(({ text }) => text),
      hasPicture: JSON.stringify(looks.at(-1)!.body.messages).includes(picture),
      noteRead: toolResultIn(api.calls().at(-1)!),
      attachments: readdirSync(join(workspaceOf(homes[1]!), 'attachments')),
      foundIn: [...new Set(hits.map(({ source }) => source))].sort(),
    }
  } finally {
    await Promise.all(children.map((child) => end(child, 'SIGTERM')))
    await telegram.close()
    await api.close()
    for (const home of homes) home.remove()
  }
}

function makeHomeOf(n: number, url: string, apiUrl: string, telegram: TelegramApi): ClaudeHome {
  const home = makeClaudeHome({ apiUrl, name: `files-${n}` })
  home.variables['ROCKPOOL_DATABASE_URL'] = url
  const config = {
    ...configFor(telegram),
    // Guests have neither tools that write nor notes.
    channels: { ...configFor(telegram).channels, ownerAllowFrom: [`telegram:${person.id}`] },
    claude: { maxRetries: 1 },
    agents: { defaults: { model: testModel, allowedTools: ['Read', 'Write'] } },
    store: 'postgres',
    machine: { name: `m${n}` },
  }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
  return home
}

function workspaceOf({ stateDir }: ClaudeHome): string {
  return join(stateDir, 'agents', 'main', 'workspace')
}

function toolResultIn({ body }: ApiRequest): string {
  const blocks = (body.messages ?? []).flatMap(({ content }) => (typeof content === 'string' ? [] : content))
  return JSON.stringify(blocks.findLast(({ type }) => type === 'tool_result')?.content ?? '')
}
