// Talk to an agent in the page: its conversations at the side, what is said as it is written.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { chatItems, placeInChat, wordsOf } from '../chat-cards.ts'
import type { ChatItem } from '../chat-cards.ts'
import type { Card, Notice, SentAnswer } from '../data.ts'
import { useAction, useGateway, useLive } from '../live.ts'
import { CardView } from '../parts/cards.tsx'
import { Conversations } from '../parts/conversations.tsx'
import { NoticeView } from '../parts/notices.tsx'
import { Say } from '../parts/say.tsx'
import type { Answered } from '../parts/say.tsx'
import { SentFiles } from '../parts/sent-files.tsx'
import { Empty, Loaded, Problem } from '../parts/states.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { go } from '../route.ts'

export function Chat({ sessionKey, at }: { sessionKey?: string; at?: string }) {
  const own = useLive('turns.where', { channel: 'web', to: 'dashboard' })
  return (
    <Loaded live={own}>
      {(data) => {
        const key = sessionKey ?? data.sessionKey
        return (
          <div class="session chat">
            <Talk key={key} sessionKey={key} isOwn={key === data.sessionKey} at={at} />
            <Conversations current={key} own={data.sessionKey} />
          </div>
        )
      }}
    </Loaded>
  )
}

const heard = new Set(['transcript-appended', 'turn-ended', 'message-accepted', 'session-changed'])

function Talk({ sessionKey, isOwn, at }: { sessionKey: string; isOwn: boolean; at?: string }) {
  const history = useLive(
    'sessions.history',
    { key: sessionKey, limit: 1000 },
    (event) => heard.has(event.type) && 'key' in event && event.key === sessionKey,
  )
  const { notices, answers } = useTold(isOwn, sessionKey)
  const [answered, setAnswered] = useState<Answered>()
  const turn = useTurn(sessionKey, history.reload)
  const said = useMemo(() => chatItems(history.data?.entries ?? [], notices), [history.data, notices])
  const items = [...said, ...turn.items]
  const results = useMemo(() => resultsOf(items), [items])
  const shown = items.filter((item) => !('card' in item) || item.card.kind !== 'result')
  const place = at === undefined ? -1 : placeInChat(shown, at)
  return (
    <section class="conversation" aria-label="Conversation">
      {shown.length === 0 ? (
        <Empty title="Say hello">
          <p>
            The agent answers here, with its tools and its memory. Without a log-in to Claude, the offline
            agent answers and says how to connect it.
          </p>
          <p class="faint">
            <code>/help</code> lists commands; <code>/claude</code> starts a coding session.
          </p>
        </Empty>
      ) : (
        <VirtualList
          items={shown}
          keyOf={(item) => `${item.id}${'card' in item ? item.card.text.length : ''}`}
          target={at !== undefined && place >= 0 ? place : undefined}
          label="What was said"
        >
          {(item, index) => (
            <Item
              item={item}
              results={results}
              answer={isLastOf(item, shown[index + 1]) ? answers.get(item.card.uuid ?? '') : undefined}
              onReply={setAnswered}
              isTarget={index === place}
              onLink={(entry) => go({ view: 'chat', key: sessionKey, at: entry })}
            />
          )}
        </VirtualList>
      )}
      {turn.doing !== '' && (
        <p class="doing" role="status">
          {turn.doing}
        </p>
      )}
      <Say
        sessionKey={sessionKey}
        isOwn={isOwn}
        isBusy={turn.isBusy}
        onSent={history.reload}
        answered={answered}
        onAnswered={setAnswered}
      />
    </section>
  )
}

/** The last card of an entry carries what belongs to the whole of it. */
function isLastOf(item: ChatItem, next: ChatItem | undefined): item is Extract<ChatItem, { card: Card }> {
  return 'card' in item && !(next && 'card' in next && next.card.uuid === item.card.uuid)
}

interface ItemProps {
  item: ChatItem
  answer: SentAnswer | undefined
  onReply: (answered: Answered) => void
  results: Map<string | undefined, Card>
  isTarget: boolean
  onLink: (entry: string) => void
}

function Item({ item, answer, results, isTarget, onLink, onReply }: ItemProps) {
  const { run, error } = useAction()
  if ('card' in item) {
    const { card } = item
    const result = results.get(card.toolUseId ?? 'none')
    return (
      <>
        <CardView agent="Agent" card={card} result={result} isTarget={isTarget} onLink={onLink} />
        {answer && <SentFiles files={answer.files} />}
        {answer && <ReplyButton answered={{ id: answer.id, text: card.text }} onReply={onReply} />}
      </>
    )
  }
  const press = (data: string): void =>
    void run('web.write', { button: { data, messageId: item.notice.id }, messageId: crypto.randomUUID() })
  return (
    <>
      <NoticeView notice={item.notice} press={press} />
      <SentFiles files={item.notice.files} />
      <ReplyButton answered={item.notice} onReply={onReply} />
      {error && <Problem text={error} />}
    </>
  )
}

function ReplyButton({ answered, onReply }: { answered: Answered; onReply: (answered: Answered) => void }) {
  const { id, text } = answered
  return (
    <div class="buttons reply">
      <button type="button" class="quiet" onClick={() => onReply({ id, text })}>
        Reply
      </button>
    </div>
  )
}

function resultsOf(items: ChatItem[]): Map<string | undefined, Card> {
  const cards = items.flatMap((item) => ('card' in item && item.card.kind === 'result' ? [item.card] : []))
  return new Map(cards.map((card) => [card.toolUseId, card]))
}

interface Told {
  notices: Notice[]
  /** By the entry of the transcript. */
  answers: Map<string, SentAnswer>
}

/** What the page was told that is not in the transcript; only its own chat is told. */
function useTold(isOwn: boolean, sessionKey: string): Told {
  const gateway = useGateway()
  const told = useLive('web.notices', { sessionKey })
  useEffect(() => {
    const again = { event: told.reload, gap: told.reload }
    return gateway.listen('web', {}, again)
  }, [gateway])
  return useMemo(() => {
    const { notices = [], answers = [] } = (isOwn && told.data) || {}
    return { notices, answers: new Map(answers.map((answer) => [answer.entryId, answer])) }
  }, [isOwn, told.data])
}

interface RunningTurn {
  isBusy: boolean
  /** What the agent is writing now, until it stands in the transcript. */
  items: ChatItem[]
  doing: string
}

function useTurn(sessionKey: string, reload: () => void): RunningTurn {
  const gateway = useGateway()
  const [text, setText] = useState('')
  const [doing, setDoing] = useState('')
  useEffect(() => {
    const rest = (): void => {
      setText('')
      setDoing('')
      reload()
    }
    return gateway.listen(
      'sessions.messages',
      { key: sessionKey },
      {
        event(event) {
          if (event.type === 'message-accepted') setDoing('…')
          if (event.type === 'transcript-appended') reload()
          if (event.type === 'turn-ended') rest()
          if (event.type !== 'turn-event') return
          const { event: told } = event
          if (told.type === 'text-delta') setText((before) => before + told.text)
          if (told.type === 'text') setText('')
          if (told.type === 'turn-start' || told.type === 'tool-end') setDoing('Thinking…')
          if (told.type === 'tool-start') setDoing(`${told.name}…`)
        },
        gap: rest,
      },
    )
  }, [gateway, sessionKey])
  const card: Card = { kind: 'text', at: 0, text: wordsOf(text) }
  return {
    isBusy: doing !== '' || text !== '',
    doing,
    items: text === '' ? [] : [{ id: 'writing', at: Infinity, card }],
  }
}
