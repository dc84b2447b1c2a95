// Finds a text in one session, also in messages that are not loaded: the list has only what is on the screen, so the search of the
// browser would miss the rest.
import { useRef, useState } from 'preact/hooks'
import { messageOf, useGateway } from '../live.ts'
import { allCards } from './about.tsx'

interface FindProps {
  id: string
  mark: string | undefined
  /** The message on the screen. */
  at: string | undefined
  goTo: (message: string, mark: string) => void
}

export function Find({ id, mark, at, goTo }: FindProps) {
  const gateway = useGateway()
  const [text, setText] = useState(mark ?? '')
  const [found, setFound] = useState<{ for: string; ids: string[] }>()
  const [problem, setProblem] = useState<string>()
  const busy = useRef(false)
  const search = async (wanted: string): Promise<string[]> => {
    if (found?.for === wanted) return found.ids
    const cards = await allCards(gateway, id)
    const has = (one: string): boolean => one.toLowerCase().includes(wanted.toLowerCase())
    const hits = cards.filter(({ kind, text }) => (kind === 'prompt' || kind === 'text') && has(text))
    const ids = [...new Set(hits.flatMap(({ uuid }) => uuid ?? []))]
    setFound({ for: wanted, ids })
    return ids
  }
  const step = async (by: number): Promise<void> => {
    const wanted = text.trim()
    if (wanted === '' || busy.current) return
    busy.current = true
    setProblem(undefined)
    try {
      const ids = await search(wanted)
      const here = found?.for === wanted ? ids.indexOf(at ?? '') : -1
      // The newest hit first; then back in time.
      const next = here === -1 ? ids.at(-1) : ids[(here - by + ids.length) % ids.length]
      if (next !== undefined) goTo(next, wanted)
    } catch (error) {
      setProblem(messageOf(error))
    }
    busy.current = false
  }
  const place = found && at !== undefined ? found.ids.indexOf(at) : -1
  return (
    <form
      class="find-in"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        void step(1)
      }}
    >
      <input
        type="search"
        aria-label="Find in session"
        placeholder="Find in session"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') event.currentTarget.blur()
          if (event.key !== 'Enter' || !event.shiftKey) return
          event.preventDefault()
          void step(-1)
        }}
      />
      {found?.for === text.trim() && (
        <span class="faint" role="status">
          {found.ids.length === 0
            ? 'not found'
            : `${place === -1 ? '' : `${found.ids.length - place} of `}${found.ids.length}`}
        </span>
      )}
      {problem && <span class="faint">{problem}</span>}
    </form>
  )
}
