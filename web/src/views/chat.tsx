// Chat with an agent: the conversations at the side, answers while they are written.
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks'
import { inOrder, placeInChat, wordsOf } from '../chat-cards.ts'
import type { ChatItem } from '../chat-cards.ts'
import type { Card, Notice, SentAnswer } from '../data.ts'
import { visible } from '../format.ts'
import { useAction, useGateway, useLive } from '../live.ts'
import { CardView, Unfolded, weightOf } from '../parts/cards.tsx'
import { ClaudeMissing } from '../parts/claude-state.tsx'
import { Conversations } from '../parts/conversations.tsx'
import { Marked } from '../parts/marked.tsx'
import { NoticeView } from '../parts/notices.tsx'
import { Say } from '../parts/say.tsx'
import type { Answered } from '../parts/say.tsx'
import { SentFiles } from '../parts/sent-files.tsx'
import { Empty, Loaded, Loading, Problem } from '../parts/states.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { useChatMessages } from '../read-chat.ts'
import { go } from '../route.ts'

interface ChatProps {
  sessionKey?: string
  at?: string
  /** The words that were searched for. */
  mark?: string
}

export function Chat({ sessionKey, at, mark }: ChatProps) {
  const own = useLive('turns.where', { channel: 'web', to: 'dashboard' })
  return (
    <Loaded live={own}>
      {(data) => {
        const key = sessionKey ?? data.sessionKey
        return (
          <div class="chat">
            <Conversations current={key} own={data.sessionKey} />
            <Marked.Provider value={mark ?? ''}>
              <Talk key={key} sessionKey={key} isOwn={key === data.sessionKey} at={at} />
            </Marked.Provider>
          </div>
        )
      }}
    </Loaded>
  )
}

function Talk({ sessionKey, isOwn, at }: { sessionKey: string; isOwn: boolean; at?: string }) {
  const messages = useChatMessages(sessionKey, at)
  const { notices, answers } = useSentMessages(isOwn, sessionKey)
  const [answered, setAnswered] = useState<Answered>()
  const agent = useAgentName(sessionKey)
  const turn = useTurn(sessionKey, messages.reload)
  const unfolded = useMemo(() => new Set<string>(), [sessionKey])
  const items = useMemo(
    () => inOrder(messages.items, notices, messages.hasMore),
    [messages.items, notices, messages.hasMore],
  )
  const results = useMemo(() => resultsOf(items), [items])
  const shown = useMemo(
    () => [...items.filter((item) => !('card' in item) || item.card.kind !== 'result'), ...turn.items],
    [items, turn.items],
  )
  const place = at === undefined ? -1 : placeInChat(shown, at, messages.hasMore)
  const onLink = useCallback(
    (entry: string) => go({ view: 'chat', key: sessionKey, at: entry }),
    [sessionKey],
  )
  return (
    <section class="conversation" aria-label="Conversation">
      <ClaudeMissing follows="the offline agent answers" />
      {messages.error && <Problem text={messages.error} retry={() => void messages.reload()} />}
      {shown.length === 0 ? (
        <Beginning isLoading={messages.isLoading} />
      ) : (
        <Unfolded.Provider value={unfolded}>
          <VirtualList
            items={shown}
            keyOf={({ key }) => key}
            onStart={messages.more}
            target={place === -1 ? undefined : place}
            weightOf={(item) => ('card' in item ? weightOf(item.card) : 1)}
            label="Transcript"
          >
            {(item, index) => (
              <Item
                item={item}
                agent={agent}
                result={'card' in item ? results.get(item.card.toolUseId ?? 'none') : undefined}
                answer={isLastOf(item, shown[index + 1]) ? answers.get(item.card.uuid ?? '') : undefined}
                onReply={setAnswered}
                isTarget={index === place}
                onLink={onLink}
              />
            )}
          </VirtualList>
        </Unfolded.Provider>
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
        onSent={() => void messages.reload()}
        answered={answered}
        onAnswered={setAnswered}
      />
    </section>
  )
}

function useAgentName(sessionKey: string): string {
  const id = /^agent:([^:]+)/.exec(sessionKey)?.[1] ?? 'main'
  const agents = useLive('agents.list', {}, (event) => event.type === 'config-changed')
  return visible(agents.data?.agents.find((one) => one.id === id)?.name ?? id)
}

function Beginning({ isLoading }: { isLoading: boolean }) {
  if (isLoading) return <Loading />
  return (
    <Empty title="Say hello">
      <p>
        The agent answers here, with its tools and its memory. Without a log-in to Claude, the offline agent
        answers and explains how to connect Claude.
      </p>
      <p class="faint">
        <code>/help</code> lists commands; <code>/claude</code> starts a coding session.
      </p>
    </Empty>
  )
}

/** The last card of an entry has the files and buttons of the whole entry. */
function isLastOf(item: ChatItem, next: ChatItem | undefined): item is Extract<ChatItem, { card: Card }> {
  return 'card' in item && !(next && 'card' in next && next.card.uuid === item.card.uuid)
}

interface ItemProps {
  item: ChatItem
  answer: SentAnswer | undefined
  /** Its name. */
  agent: string
  onReply: (answered: Answered) => void
  result: Card | undefined
  isTarget: boolean
  onLink: (entry: string) => void
}

/** Rendered again only if a property changes: the list is rendered in every frame while scrolling. */
function Item(props: ItemProps) {
  const { item, answer, agent, result, isTarget, onLink, onReply } = props
  return useMemo(() => <ItemView {...props} />, [item, answer, agent, result, isTarget, onLink, onReply])
}

function ItemView({ item, answer, agent, result, isTarget, onLink, onReply }: ItemProps) {
  const { run, error } = useAction()
  if ('card' in item) {
    const { card } = item
    return (
      <>
        <CardView
          agent={agent}
          card={card}
          goesOn={item.goesOn}
          result={result}
          isTarget={isTarget}
          onLink={onLink}
        />
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

interface SentMessages {
  notices: Notice[]
  /** By the id of the transcript entry. */
  answers: Map<string, SentAnswer>
}

/** Messages that are not in the transcript. Only the page's own chat receives them. */
function useSentMessages(isOwn: boolean, sessionKey: string): SentMessages {
  const gateway = useGateway()
  const received = useLive(
    'web.notices',
    { sessionKey, limit: 500 },
    (event) => event.type === 'turn-ended' && event.key === sessionKey,
  )
  useEffect(() => {
    const again = { event: received.reload, gap: received.reload }
    return gateway.listen('web', {}, again)
  }, [gateway])
  return useMemo(() => {
    const { notices = [], answers = [] } = (isOwn && received.data) || {}
    return { notices, answers: new Map(answers.map((answer) => [answer.entryId, answer])) }
  }, [isOwn, received.data])
}

interface RunningTurn {
  isBusy: boolean
  /** The text that the agent is writing, until it is in the transcript. */
  items: ChatItem[]
  doing: string
}

function useTurn(sessionKey: string, reload: () => Promise<void>): RunningTurn {
  const gateway = useGateway()
  const [text, setText] = useState('')
  const [doing, setDoing] = useState('')
  useEffect(() => {
    let isWhole = false
    let inTurn = false
    // The text stays visible until it is loaded from the transcript.
    const read = (): void => void reload().then(() => isWhole && setText(''))
    const rest = (): void => {
      isWhole = true
      inTurn = false
      setDoing('')
      read()
    }
    const add = (more: string): void => {
      const wasWhole = isWhole
      isWhole = false
      setText((before) => (wasWhole ? more : before + more))
    }
    return gateway.listen(
      'sessions.messages',
      { key: sessionKey },
      {
        event(event) {
          if (event.type === 'message-accepted') setDoing('…')
          if (event.type === 'transcript-appended') read()
          if (event.type === 'turn-ended') rest()
          // A command is answered without a turn.
          if ((event.type === 'reply-sent' || event.type === 'reply-failed') && !inTurn) rest()
          if (event.type !== 'turn-event') return
          inTurn = true
          const { event: step } = event
          if (step.type === 'text-delta') add(step.text)
          if (step.type === 'text') isWhole = true
          if (step.type === 'turn-start' || step.type === 'tool-end') setDoing('Thinking…')
          if (step.type === 'tool-start') setDoing(`${step.name}…`)
        },
        gap: rest,
      },
    )
  }, [gateway, sessionKey])
  const items = useMemo((): ChatItem[] => {
    const card: Card = { kind: 'text', at: 0, text: wordsOf(text) }
    return text === '' ? [] : [{ key: 'writing', at: Infinity, card }]
  }, [text])
  return { isBusy: doing !== '' || text !== '', doing, items }
}
