// The facts about a session, and what organises it: its title, its place in the lists, an export as Markdown.
import { useState } from 'preact/hooks'
import type { Card, CodingRow, Health, Info, NativeSession } from '../data.ts'
import { ago, count, download, minutes, nameOf, shortPath, visible } from '../format.ts'
import type { Gateway } from '../gateway.ts'
import { messageOf, useAction, useGateway, useLive } from '../live.ts'
import type { Live } from '../live.ts'
import { Code } from './code.tsx'
import { Link } from './link.tsx'
import { OnMachine } from './on-machine.tsx'
import { Problem, Words } from './states.tsx'

interface AboutProps {
  session: NativeSession
  coding: CodingRow | undefined
  info: Live<Info>
}

export function About({ session, coding, info }: AboutProps) {
  const { data: checked } = useLive('cc.info', { id: coding?.id ?? session.sessionId, lines: false })
  return (
    <section aria-label="About this session">
      {coding && <p class="faint">{visible(coding.prompt)}</p>}
      <dl>
        <dt>State</dt>
        <dd>
          <Words text={stateLine(session, coding)} />
        </dd>
        <dt>Repository</dt>
        <dd>
          <Link to={{ view: 'project', path: session.repoPath }}>{visible(shortPath(session.repoPath))}</Link>{' '}
          {visible(session.branch)} <span class="faint">{visible(session.repoPath)}</span>
        </dd>
        {coding && <OnMachine row={coding} reload={info.reload} />}
        <dt>Last used</dt>
        <dd>
          {ago(Date.parse(session.lastModified))}, cache {session.warm ? 'warm' : 'cold'}
        </dd>
        <dt>Model</dt>
        <dd>{visible(coding?.model ?? session.model ?? '–')}</dd>
        {session.messageCount > 0 && (
          <>
            <dt>Messages</dt>
            <dd>
              {session.messageCount}, {count(session.promptCount, 'prompt')},{' '}
              {count(session.compactionCount, 'compaction')}
            </dd>
          </>
        )}
        {coding && (
          <>
            <dt>Waited for you</dt>
            <dd>{minutes(coding.waitedMs)}</dd>
          </>
        )}
        {info.data?.onResume !== undefined && (
          <>
            <dt>When resumed here</dt>
            <dd>{visible(info.data.onResume)}</dd>
          </>
        )}
        {checked?.health && <HealthOf health={checked.health} />}
      </dl>
      {info.data && canResumeInTerminal(info.data) && (
        <>
          <h2>In a terminal</h2>
          <Code text={`claude --resume ${session.sessionId}`} language="sh" />
        </>
      )}
      {session.messageCount > 0 && <Organise session={session} />}
    </section>
  )
}

/** The state, and what the session asks, does or said last. */
export function stateLine(
  session: Pick<NativeSession, 'state' | 'waitingFor' | 'stateText'>,
  coding: Pick<CodingRow, 'state' | 'stateText'> | undefined,
): string {
  const about = coding?.stateText ?? session.waitingFor ?? session.stateText
  return [coding?.state ?? session.state, about].filter(Boolean).join(': ')
}

/** Only Claude Code knows its ids, and it resumes a session only in the folder of the session. */
export function canResumeInTerminal({
  session,
  folderGone,
}: Pick<Info, 'folderGone'> & {
  session: Pick<Info['session'], 'agentKind' | 'messageCount' | 'kept'>
}): boolean {
  const hasTranscript = session.messageCount > 0 && !session.kept
  return session.agentKind === 'claude' && hasTranscript && !folderGone
}

const verdicts = { sound: 'Intact', degraded: 'Partly readable', broken: 'Damaged' }

function HealthOf({ health }: { health: Health }) {
  return (
    <>
      <dt>Transcript</dt>
      <dd>
        {verdicts[health.verdict]}
        {health.reachableShare < 1 && `: a resume finds ${Math.round(health.reachableShare * 100)}%`}
        {health.findings.length > 0 && (
          <ul>
            {health.findings.map((finding) => (
              <li key={finding}>{visible(finding)}</li>
            ))}
          </ul>
        )}
      </dd>
    </>
  )
}

function Organise({ session }: { session: NativeSession }) {
  const gateway = useGateway()
  const [title, setTitle] = useState(session.title ?? '')
  const [exporting, setExporting] = useState(false)
  const [failed, setFailed] = useState<string>()
  const { run, busy, error } = useAction()
  const id = session.sessionId
  const save = async (): Promise<void> => {
    setExporting(true)
    setFailed(undefined)
    try {
      download(`${id}.md`, asMarkdown(session, await allCards(gateway, id)))
    } catch (problem) {
      setFailed(messageOf(problem))
    }
    setExporting(false)
  }
  return (
    <form
      class="respond"
      onSubmit={(event) => {
        event.preventDefault()
        void run('cc.label', { id, title })
      }}
    >
      <label for="title">Title</label>
      <input
        id="title"
        value={title}
        maxLength={200}
        onInput={(event) => setTitle(event.currentTarget.value)}
      />
      <div class="buttons">
        <button type="submit" disabled={busy || title.trim() === ''}>
          Rename
        </button>
        <button type="button" disabled={exporting} onClick={() => void save()}>
          {exporting ? 'Exporting…' : 'Export'}
        </button>
      </div>
      {(error ?? failed) && <Problem text={error ?? failed ?? ''} />}
    </form>
  )
}

/** Every card of a session, page by page. */
export async function allCards(gateway: Gateway, id: string): Promise<Card[]> {
  const pages: Card[][] = []
  let before: number | undefined
  do {
    const page = await gateway.call('cc.read', { id, limit: 1000, before })
    pages.push(page.cards)
    before = page.before
  } while (before !== undefined)
  return pages.reverse().flat()
}

function asMarkdown(session: NativeSession, cards: Card[]): string {
  const parts = cards.map((card) => {
    if (card.kind === 'tool')
      return `**${card.tool!.name}**\n\n${fenced(JSON.stringify(card.tool!.input, null, 2))}`
    if (card.kind === 'result') return fenced(card.text)
    if (card.kind === 'compaction') return '---\n\nContext compacted here.'
    return card.kind === 'prompt' ? `## You\n\n${card.text}` : card.text
  })
  return `# ${nameOf(session)}\n\n${parts.join('\n\n')}\n`
}

/** A fence that is longer than every fence in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}
