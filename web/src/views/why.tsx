// Which session wrote a file, a line or a commit: the file with its sessions in the margin, the story of a line, the sessions of a
// commit.
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { OutputOf } from '../../../src/rpc/client.ts'
import { ago, count, shortPath, usd, visible } from '../format.ts'
import { useLive } from '../live.ts'
import { Link } from '../parts/link.tsx'
import { Empty, Loaded, Problem } from '../parts/states.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'

type Answer = OutputOf<'why.ask'>
type File = Extract<Answer, { kind: 'file' }>
type Line = Extract<Answer, { kind: 'line' }>
type Commit = Extract<Answer, { kind: 'commit' }>
type Segment = File['segments'][number]

export function WhyView({ repo, target }: { repo: string; target: string }) {
  const answer = useLive('why.ask', { repo, target, text: true })
  const isMissing = answer.error !== undefined && answer.data === undefined
  return (
    <div class="page why-page">
      <div class="page-head">
        <h1>{visible(/^[0-9a-f]{40}$/.test(target) ? `Commit ${target.slice(0, 10)}` : target)}</h1>
        <Link class="button" to={{ view: 'project', path: repo }}>
          ← {visible(shortPath(repo))}
        </Link>
      </div>
      {isMissing ? (
        <Problem text={answer.error!} retry={answer.reload} />
      ) : (
        <Loaded live={answer}>
          {(data) => {
            if (data.kind === 'file') return <FileMap answer={data} />
            if (data.kind === 'commit') return <CommitSessions answer={data} />
            return data.kind === 'line' ? <LineStory answer={data} /> : null
          }}
        </Loaded>
      )}
    </div>
  )
}

/** The lines of a file; each part has its session and its commit at the left. A click on a line tells its story. */
function FileMap({ answer }: { answer: File }) {
  const { repo, file, texts = [], segments, sessions } = answer
  const [asked, setAsked] = useState<number>()
  const titles = useMemo(() => new Map(sessions.map((one) => [one.sessionId, one.title])), [sessions])
  const parts = useMemo(() => segments.flatMap(piecesOf), [segments])
  if (texts.length === 0) return <Empty title="The file is empty" />
  const known = sessions.reduce((sum, one) => sum + one.lines, 0)
  return (
    <>
      <p class="faint">
        {known} of {count(texts.length, 'line')} by {count(sessions.length, 'known session')}. Choose a line
        to see its prompt.
      </p>
      {asked !== undefined && <AskedLine repo={repo} target={`${file}:${asked}`} />}
      <VirtualList
        items={parts}
        keyOf={({ from }) => String(from)}
        target={0}
        isWhole
        weightOf={({ from, to }) => to - from + 1}
        label={visible(file)}
      >
        {(part) => (
          <Part
            part={part}
            texts={texts}
            title={titles.get(part.sessionId ?? '')}
            repo={repo}
            onLine={setAsked}
          />
        )}
      </VirtualList>
    </>
  )
}

/** A long segment is drawn in pieces, so that only what is seen is drawn. */
const pieceLines = 40

function piecesOf(segment: Segment): Segment[] {
  const length = Math.ceil((segment.to - segment.from + 1) / pieceLines)
  return Array.from({ length }, (_, i) => {
    const from = segment.from + i * pieceLines
    return { ...segment, from, to: Math.min(segment.to, from + pieceLines - 1) }
  })
}

interface PartProps {
  part: Segment
  texts: string[]
  title: string | undefined
  repo: string
  onLine: (line: number) => void
}

function Part({ part: { from, to, sha, sessionId, at, confidence }, texts, title, repo, onLine }: PartProps) {
  return (
    <div class={`why-part ${confidence}`}>
      <div class="margin">
        {sessionId === undefined ? (
          <span class="faint">unknown</span>
        ) : (
          <Link to={{ view: 'session', id: sessionId, at: `@${at}` }} title={visible(title ?? sessionId)}>
            {visible(title || sessionId.slice(0, 8))}
          </Link>
        )}
        {sha === undefined ? (
          <span class="faint">not committed</span>
        ) : (
          <Link class="faint" to={{ view: 'why', repo, target: sha }}>
            {sha.slice(0, 8)}
          </Link>
        )}
      </div>
      <ol class="lines" start={from}>
        {texts.slice(from - 1, to).map((text, i) => (
          <li key={i}>
            <button
              type="button"
              class="quiet"
              aria-label={`Line ${from + i}: ${visible(text)}`}
              onClick={() => onLine(from + i)}
            >
              {visible(text) || '\u00a0'}
            </button>
          </li>
        ))}
      </ol>
    </div>
  )
}

function AskedLine({ repo, target }: { repo: string; target: string }) {
  const answer = useLive('why.ask', { repo, target })
  return (
    <section class="card asked-line" aria-label={`Why ${visible(target)}`} aria-live="polite">
      <h2>
        <Link to={{ view: 'why', repo, target }}>{visible(target)}</Link>
      </h2>
      <Loaded live={answer}>{(data) => (data.kind === 'line' ? <LineStory answer={data} /> : null)}</Loaded>
    </section>
  )
}

function LineStory({ answer }: { answer: Line }) {
  const { session, guess, commit, prompt, said, decisions, earlier, later, repo } = answer
  return (
    <>
      <pre class="asked-text">{visible(answer.text)}</pre>
      <p>
        <span class={`chip ${answer.confidence}`}>{answer.confidence}</span> {visible(answer.reason)}
      </p>
      <dl>
        {session && (
          <Fact name="Session">
            <Link to={{ view: 'session', id: session.sessionId, at: answer.message }}>
              {visible(session.title)}
            </Link>
          </Fact>
        )}
        {guess && (
          <Fact name="Best guess">
            <Link to={{ view: 'session', id: guess.sessionId }}>{visible(guess.title)}</Link>{' '}
            <span class="faint">not certain</span>
          </Fact>
        )}
        <Fact name="Commit">
          {commit ? (
            <Link to={{ view: 'why', repo, target: commit.sha }}>
              {commit.sha.slice(0, 8)} {visible(commit.subject)}
            </Link>
          ) : (
            'not committed'
          )}
        </Fact>
        {prompt !== undefined && <Fact name="Prompt">{visible(prompt)}</Fact>}
        {decisions.map(({ kind, text, answer: given }, i) => (
          <Fact key={i} name={kind === 'plan' ? 'Plan' : 'Question'}>
            {visible(given === undefined ? text : `${text} → ${given}`)}
          </Fact>
        ))}
        {said !== undefined && <Fact name="Said before">{visible(said)}</Fact>}
        {answer.command !== undefined && (
          <Fact name="Command">
            <code>{visible(answer.command)}</code>
          </Fact>
        )}
        {answer.costUsd !== undefined && <Fact name="Cost of the turn">{usd(answer.costUsd)}</Fact>}
      </dl>
      <Past title="Before that" edits={earlier} />
      <Past title="Changed since" edits={later} />
    </>
  )
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

function Past({ title, edits }: { title: string; edits: Line['earlier'] }) {
  if (edits.length === 0) return null
  return (
    <details>
      <summary>
        {title} <span class="faint">{edits.length}</span>
      </summary>
      {edits.map(({ session, message, at, removed, added, isGone }, i) => (
        <div key={i}>
          <p class="faint">
            {ago(at)}:{' '}
            <Link to={{ view: 'session', id: session.sessionId, at: message }}>{visible(session.title)}</Link>
            {isGone && ' · nothing of it is left'}
          </p>
          <pre class="diff">
            {removed.map((line, j) => (
              <del key={j}>{`- ${visible(line)}\n`}</del>
            ))}
            {added.map((line, j) => (
              <ins key={j}>{`+ ${visible(line)}\n`}</ins>
            ))}
          </pre>
        </div>
      ))}
    </details>
  )
}

function CommitSessions({ answer }: { answer: Commit }) {
  const { commit, sessions, files, lines, unknownLines, repo } = answer
  return (
    <>
      <p>
        <strong>{visible(commit.subject)}</strong>{' '}
        <span class="faint">
          {visible(commit.author)} · {ago(commit.at)}
        </span>
      </p>
      <p>
        <span class={`chip ${answer.confidence}`}>{answer.confidence}</span> {visible(answer.reason)}
      </p>
      <p class="faint">
        {count(lines, 'line')} added, {unknownLines} by no known session
      </p>
      <ul class="names spaced">
        {sessions.map((one) => (
          <li key={one.sessionId}>
            <Link to={{ view: 'session', id: one.sessionId, at: one.message }}>{visible(one.title)}</Link>{' '}
            <span class="faint">
              {count(one.lines, 'line')} · {ago(one.at)} · turn {usd(one.turnCostUsd)}
            </span>
            {one.prompt !== undefined && one.prompt !== one.title && <p>{visible(one.prompt)}</p>}
          </li>
        ))}
      </ul>
      <h2>Files</h2>
      <ul class="names">
        {files.map(({ file, lines: added }) => (
          <li key={file}>
            <Link to={{ view: 'why', repo, target: file }}>{visible(file)}</Link>{' '}
            <span class="faint">{count(added, 'line')}</span>
          </li>
        ))}
      </ul>
    </>
  )
}
