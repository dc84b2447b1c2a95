// One note of an agent's memory, scrolled to the line of the search hit.
import { useEffect, useRef } from 'preact/hooks'
import { ago, visible } from '../format.ts'
import { modKey } from '../keyboard.ts'
import { useLive } from '../live.ts'
import { Empty, Loaded } from '../parts/states.tsx'

/** `line` counts from 1; NaN without a search hit. */
export function NoteView({ path, line }: { path: string; line: number }) {
  const notes = useLive('memory.list', {}, (event) => event.type === 'turn-ended')
  return (
    <Loaded live={notes}>
      {(data) => {
        const note = data.notes.find((one) => one.path === path)
        return note ? <Note {...note} line={line} /> : <Gone path={path} />
      }}
    </Loaded>
  )
}

function Gone({ path }: { path: string }) {
  return (
    <Empty title="This note no longer exists">
      <p>
        It was at <code>{visible(path)}</code>. Agents tidy their notes; find its text with{' '}
        <kbd>{modKey}K</kbd>.
      </p>
    </Empty>
  )
}

interface NoteProps {
  agentId: string
  name: string
  path: string
  changedAt: number
  line: number
}

function Note({ agentId, name, path, changedAt, line }: NoteProps) {
  const note = useLive('memory.show', { name, agent: agentId })
  return (
    <div class="page note">
      <h1>{visible(name)}</h1>
      <p class="faint">
        Noted by {visible(agentId)} · {ago(changedAt)} · {visible(path)}
      </p>
      <Loaded live={note}>{({ text }) => <Lines lines={text.split('\n')} line={line} />}</Loaded>
    </div>
  )
}

function Lines({ lines, line }: { lines: string[]; line: number }) {
  const target = useRef<HTMLLIElement>(null)
  useEffect(() => target.current?.scrollIntoView({ block: 'center' }), [line])
  return (
    <ol class="lines">
      {lines.map((text, i) => (
        <li key={i} ref={i + 1 === line ? target : undefined} class={i + 1 === line ? 'target' : ''}>
          {visible(text) || '\u00a0'}
        </li>
      ))}
    </ol>
  )
}
