// Notices that the page receives: cards in its chat, and toasts in the other views.
import { useEffect, useState } from 'preact/hooks'
import type { RockpoolEvent } from '../gateway.ts'
import type { Notice } from '../data.ts'
import { clock, visible } from '../format.ts'
import { useGateway } from '../live.ts'
import { follow, pathOf } from '../route.ts'
import { Markdown } from './markdown.tsx'

const shownMs = 8_000
const maxShown = 3

export function NoticeView({ notice, press }: { notice: Notice; press: (data: string) => void }) {
  const { codingId } = notice
  const route = { view: 'coding', id: codingId ?? '' } as const
  return (
    <article class="card received">
      <div class="head">
        <h3>Notice</h3>
        <time dateTime={new Date(notice.at).toISOString()}>{clock(notice.at)}</time>
        {codingId !== undefined && (
          <a href={pathOf(route)} onClick={follow(route)}>
            Open
          </a>
        )}
      </div>
      <Markdown text={notice.text} />
      {notice.buttons.length > 0 && (
        <div class="buttons">
          {notice.buttons.flat().map((button) => (
            <button key={button.data} type="button" onClick={() => press(button.data)}>
              {visible(button.label)}
            </button>
          ))}
        </div>
      )}
    </article>
  )
}

/** New notices, in every view except the chat, which shows them as cards. */
export function Toasts({ quiet }: { quiet: boolean }) {
  const gateway = useGateway()
  const [toasts, setToasts] = useState<Array<{ id: string; text: string }>>([])
  useEffect(() => {
    const timers = new Set<number>()
    const event = (one: RockpoolEvent): void => {
      if (one.type !== 'web-output' || one.output.type !== 'message') return
      const { id, text } = one.output.message
      setToasts((before) => [...before.filter((other) => other.id !== id), { id, text }].slice(-maxShown))
      timers.add(window.setTimeout(() => setToasts((now) => now.filter((other) => other.id !== id)), shownMs))
    }
    const stop = gateway.listen('web', {}, { event, gap: () => undefined })
    return () => {
      stop()
      for (const timer of timers) clearTimeout(timer)
    }
  }, [gateway])
  return (
    <div class="toasts" role="status" aria-label="Notices">
      {!quiet &&
        toasts.map(({ id, text }) => (
          <a key={id} href={pathOf({ view: 'chat' })} onClick={follow({ view: 'chat' })}>
            {visible(inShort(text))}
          </a>
        ))}
    </div>
  )
}

/** The first paragraph, without the lines around a command. */
function inShort(text: string): string {
  const [first = ''] = text.replaceAll(/^```.*\n?/gm, '').split('\n\n', 1)
  return first.slice(0, 200)
}
