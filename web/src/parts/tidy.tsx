// Organising a session: set its title, archive or restore it, export it as Markdown.
import { useState } from 'preact/hooks'
import type { Card, NativeSession } from '../data.ts'
import { download, nameOf } from '../format.ts'
import type { Gateway } from '../gateway.ts'
import { messageOf, useAction, useGateway } from '../live.ts'
import { Problem } from './states.tsx'

export function Tidy({ session }: { session: NativeSession }) {
  const gateway = useGateway()
  const [title, setTitle] = useState(session.title ?? '')
  const [copying, setCopying] = useState(false)
  const [failed, setFailed] = useState<string>()
  const { run, busy, error } = useAction()
  const id = session.sessionId
  const copy = async (): Promise<void> => {
    setCopying(true)
    setFailed(undefined)
    try {
      download(`${id}.md`, asMarkdown(session, await allCards(gateway, id)))
    } catch (problem) {
      setFailed(messageOf(problem))
    }
    setCopying(false)
  }
  return (
    <section aria-label="Organise">
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
        <button type="submit" disabled={busy || title.trim() === ''}>
          Rename
        </button>
      </form>
      <div class="buttons">
        <button
          type="button"
          disabled={busy}
          onClick={() => void run('cc.archive', { id, restore: session.archived })}
        >
          {session.archived ? 'Restore' : 'Archive'}
        </button>
        <button type="button" disabled={copying} onClick={() => void copy()}>
          {copying ? 'Exporting…' : 'Export'}
        </button>
      </div>
      {(error ?? failed) && <Problem text={error ?? failed ?? ''} />}
    </section>
  )
}

async function allCards(gateway: Gateway, id: string): Promise<Card[]> {
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
