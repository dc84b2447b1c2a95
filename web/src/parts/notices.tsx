// A notice in the chat of the page, with its buttons.
import type { Notice } from '../data.ts'
import { clock, visible } from '../format.ts'
import { follow, pathOf } from '../route.ts'
import { isShownWhole, Markdown } from './markdown.tsx'

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
      <NoticeText text={textOnPage(notice)} isAsked={notice.buttons.length > 0} />
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

/** A person must see all of what they are asked. */
function NoticeText({ text, isAsked }: { text: string; isAsked: boolean }) {
  const seen = isAsked ? visible(text) : text
  return isAsked && !isShownWhole(seen) ? <pre>{seen}</pre> : <Markdown text={seen} />
}

/** Removes the parts for chats without buttons: the commands to type, and their ids. The question itself stays unchanged. */
export function textOnPage({ text, buttons }: Pick<Notice, 'text' | 'buttons'>): string {
  if (buttons.length > 0) return text.replace(/\n\nAnswer [^\n]*\/approve [^\n]*$/, '')
  return withoutCommands(withoutIds(text))
}

/** The page has a button for what these commands do. */
export function withoutCommands(text: string): string {
  return text.replace(/ Then continue: `[^`]*`\./, '').replace(/\nResume: \/claude_resume [^\n]*$/, '')
}

/** A session that has finished its turn says so without its id. */
export function withoutIds(text: string): string {
  return text.replace(/ waits for input \([^)]*\)/, ' finished its turn')
}
