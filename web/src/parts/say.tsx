// The field for messages to an agent: text, and files that are dropped, pasted or chosen.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatBytes } from '../../../src/domain/byte-size.ts'
import { count, visible } from '../format.ts'
import { messageOf, useAction, useGateway } from '../live.ts'
import { upload } from '../upload.ts'
import { Problem } from './states.tsx'
import { useShowToast } from './toasts.tsx'

/** The message that is being replied to. */
export interface Answered {
  id: string
  text: string
}

interface SayProps {
  sessionKey: string
  /** The page's own chat uses the web channel, which accepts files. */
  isOwn: boolean
  isBusy: boolean
  onSent: () => void
  answered: Answered | undefined
  onAnswered: (answered: Answered | undefined) => void
}

export function Say({ sessionKey, isOwn, isBusy, onSent, answered, onAnswered }: SayProps) {
  const gateway = useGateway()
  const [text, setText] = useState('')
  const [files, setFiles] = useState<File[]>([])
  const [problem, setProblem] = useState<string>()
  const [sending, setSending] = useState(false)
  const { run, error } = useAction()
  const showToast = useShowToast()
  const field = useRef<HTMLTextAreaElement>(null)
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), [sessionKey])
  const add = (more: Iterable<File>): void => setFiles((before) => [...before, ...more].slice(0, 10))
  const send = async (): Promise<void> => {
    const said = text.trim()
    if (sending || (said === '' && files.length === 0)) return
    setSending(true)
    setProblem(undefined)
    try {
      if (isOwn) {
        const brought = await Promise.all(files.map((file) => upload(gateway, file)))
        const reply = answered && { replyTo: answered.id, replyText: answered.text.slice(0, 2_000) }
        const messageId = crypto.randomUUID()
        await gateway.call('web.write', { text: said, files: brought, messageId, ...reply })
      } else await gateway.call('turns.send', { message: said, sessionKey })
      setText('')
      setFiles([])
      onAnswered(undefined)
      onSent()
    } catch (failure) {
      // The text stays in the field, so that it can be sent again.
      setProblem(messageOf(failure))
    }
    setSending(false)
  }
  const stop = async (): Promise<void> => {
    const forgotten = (await run('turns.stop', { sessionKey }))?.forgotten ?? 0
    if (forgotten > 0)
      showToast({ text: `Stopped, and dropped ${count(forgotten, 'message')} that waited for an answer` })
  }
  return (
    <form
      class="say"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
      onDragOver={(event) => isOwn && event.preventDefault()}
      onDrop={(event) => {
        if (!isOwn) return
        event.preventDefault()
        add(event.dataTransfer?.files ?? [])
      }}
      onPaste={(event) => isOwn && add(event.clipboardData?.files ?? [])}
    >
      {answered && <Answering answered={answered} stop={() => onAnswered(undefined)} />}
      <Files files={files} remove={(file) => setFiles(files.filter((one) => one !== file))} />
      <label class="sr" for="say">
        Message
      </label>
      <textarea
        id="say"
        ref={field}
        rows={2}
        value={text}
        placeholder={
          isOwn ? 'Write to the agent, or drop files here. Enter sends.' : 'Write to the agent. Enter sends.'
        }
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          void send()
        }}
      />
      <div class="buttons">
        {isOwn && <ChooseFiles add={add} />}
        <span class="faint grow">Shift+Enter for a new line</span>
        <button type="button" disabled={!isBusy} onClick={() => void stop()}>
          Stop
        </button>
        <button
          type="submit"
          class="primary"
          disabled={sending || (text.trim() === '' && files.length === 0)}
        >
          {sending && files.length > 0 ? 'Sending files…' : 'Send'}
        </button>
      </div>
      {(problem ?? error) && <Problem text={problem ?? error ?? ''} />}
    </form>
  )
}

function Answering({ answered, stop }: { answered: Answered; stop: () => void }) {
  const field = document.querySelector<HTMLTextAreaElement>('#say')
  useEffect(() => field?.focus(), [answered.id])
  return (
    <p class="chip answering">
      Answer to: {visible(answered.text.split('\n')[0]?.slice(0, 80) ?? '')}
      <button type="button" class="quiet" aria-label="Cancel the reply" onClick={stop}>
        ✕
      </button>
    </p>
  )
}

function ChooseFiles({ add }: { add: (files: Iterable<File>) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <button type="button" onClick={() => input.current?.click()}>
        Add files
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={(event) => {
          add(event.currentTarget.files ?? [])
          event.currentTarget.value = ''
        }}
      />
    </>
  )
}

function Files({ files, remove }: { files: File[]; remove: (file: File) => void }) {
  if (files.length === 0) return null
  return (
    <ul class="files" aria-label="Files to send">
      {files.map((file, i) => (
        <li key={`${file.name}${i}`} class="chip">
          {visible(file.name)} <span class="faint">{formatBytes(file.size)}</span>
          <button type="button" class="quiet" aria-label={`Remove ${file.name}`} onClick={() => remove(file)}>
            ✕
          </button>
        </li>
      ))}
    </ul>
  )
}
