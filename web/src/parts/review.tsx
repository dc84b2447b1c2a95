// The changes of a coding session since it began: files with their difference, commits, tests, its last words; and a pull request
// from it.
import { useState } from 'preact/hooks'
import type { CodingRow } from '../data.ts'
import { ago, count, visible } from '../format.ts'
import { useAction, useLive, wrote } from '../live.ts'
import type { OutputOf } from '../../../src/rpc/client.ts'
import { Copy } from './code.tsx'
import { Markdown } from './markdown.tsx'
import { Loaded, Problem } from './states.tsx'
import { Switch } from './switch.tsx'

type Review = OutputOf<'coding.review'>

export function ReviewTab({ coding }: { coding: CodingRow }) {
  const review = useLive('coding.review', { session: coding.id }, wrote(coding.claudeSessionId ?? ''), 2_000)
  return (
    <Loaded live={review}>
      {(data) => (
        <section aria-label="Changes" class="review">
          {data.problems.map((problem) => (
            <p key={problem} class="faint">
              {visible(problem)}
            </p>
          ))}
          {data.otherSessions.length > 0 && (
            <p>
              Other sessions worked in this folder since it began: {othersIn(data)}. The changes may be
              theirs, except where a file says “its own edit”.
            </p>
          )}
          {data.lastWords !== '' && <Markdown text={data.lastWords} />}
          <Done review={data} />
          <div class="buttons">
            <Copy text={data.files.map(({ patch }) => patch).join('\n')} label="Copy the diff" />
          </div>
          {data.commits.length > 0 && <PullRequest id={coding.id} />}
          <p class="faint">
            {count(data.files.length, 'file')} changed since it began
            {data.branch && ` on ${visible(data.branch)}`}.
          </p>
          {data.files.map((file) => (
            <File key={file.path} file={file} isShared={data.otherSessions.length > 0} />
          ))}
        </section>
      )}
    </Loaded>
  )
}

const mostNamed = 10

function othersIn({ otherSessions }: Review): string {
  const names = otherSessions.slice(0, mostNamed).map(({ name }) => visible(name))
  const more = otherSessions.length - names.length
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

function Done({ review: { commits, tests } }: { review: Review }) {
  return (
    <ul class="names">
      {commits.map(({ commit, subject, at }) => (
        <li key={commit}>
          <code>{commit.slice(0, 8)}</code> {visible(subject)} <span class="faint">{ago(at)}</span>
        </li>
      ))}
      {tests.map(({ command, outcome }, i) => (
        <li key={i}>
          <span class={`chip ${outcome}`}>{outcome === 'unknown' ? 'ran' : outcome}</span>{' '}
          <code>{visible(command)}</code>
        </li>
      ))}
    </ul>
  )
}

interface FileProps {
  file: Review['files'][number]
  /** Other sessions worked in the folder. */
  isShared: boolean
}

function File({ file: { path, added, removed, patch, note, own }, isShared }: FileProps) {
  return (
    <details open={patch.length < 20_000}>
      <summary>
        <code>{visible(path)}</code>{' '}
        <span class="faint">
          {added !== undefined && `+${added} `}
          {removed !== undefined && `-${removed}`} {own && isShared && 'its own edit '}
          {note && visible(note)}
        </span>
      </summary>
      {patch !== '' && <Patch text={patch} />}
    </details>
  )
}

/** A unified diff, without the lines that only name the file. */
function Patch({ text }: { text: string }) {
  const lines = text.split('\n')
  const from = lines.findIndex((line) => line.startsWith('@@'))
  return (
    <pre class="diff">
      {lines.slice(Math.max(0, from)).map((line, i) => {
        const shown = `${visible(line)}\n`
        if (line.startsWith('+')) return <ins key={i}>{shown}</ins>
        return line.startsWith('-') ? <del key={i}>{shown}</del> : <span key={i}>{shown}</span>
      })}
    </pre>
  )
}

/** Opened by two clicks: it leaves this machine. */
function PullRequest({ id }: { id: string }) {
  const [draft, setDraft] = useState(true)
  const [url, setUrl] = useState<string>()
  const { run, busy, error } = useAction()
  const open = async (): Promise<void> => setUrl((await run('coding.pr', { session: id, draft }))?.url)
  if (url !== undefined) {
    return (
      <p>
        Opened:{' '}
        <a href={url} target="_blank" rel="noreferrer noopener">
          {visible(url)}
        </a>
      </p>
    )
  }
  return (
    <details>
      <summary>Open a pull request…</summary>
      <Switch label="As a draft" checked={draft} set={setDraft} />
      <p class="faint">The GitHub CLI opens it from the branch as it was pushed.</p>
      <div class="buttons">
        <button type="button" class="primary" disabled={busy} onClick={() => void open()}>
          Open the pull request
        </button>
      </div>
      {error && <Problem text={error} />}
    </details>
  )
}
