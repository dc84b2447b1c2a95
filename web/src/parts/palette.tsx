// The palette: finds sessions, messages, notes, views and commands. Opens with Ctrl-K.
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useCommands } from '../commands.ts'
import type { Command } from '../commands.ts'
import type { NativeSession } from '../data.ts'
import { findEverything, searchFilters } from '../find.ts'
import type { Found, FoundAll, SearchFilter } from '../find.ts'
import { shortPath, visible } from '../format.ts'
import { useGateway, useLive } from '../live.ts'
import { useModal } from '../modal.ts'
import { go } from '../route.ts'
import { Problem } from './states.tsx'

type Item = Found | Command

export function Palette({ onClose }: { onClose: () => void }) {
  const gateway = useGateway()
  const { box, close, handlers } = useModal(onClose)
  const input = useRef<HTMLInputElement>(null)
  const [text, setText] = useState('')
  const [answer, setAnswer] = useState<FoundAll & { to: string }>()
  const [chosen, setChosen] = useState(0)
  const [filter, setFilter] = useState<SearchFilter>(searchFilters[0]!)
  const [repo, setRepo] = useState('')
  const known = useLive('cc.list', { limit: 1000 }).data?.sessions
  const { commands, problem } = useCommands()
  useLayoutEffect(() => input.current?.focus(), [])
  useEffect(() => {
    let isOld = false
    const timer = setTimeout(() => {
      void findEverything(gateway.call, { text, filter, repo, known: known ?? [] }).then((all) => {
        if (isOld) return
        setAnswer({ to: text, ...all })
        setChosen(0)
      })
    }, 120)
    return () => {
      isOld = true
      clearTimeout(timer)
    }
  }, [text, filter, repo, known])
  const found = answer && isAnswered(text, answer.to) ? answer.found : undefined
  const suggested = answer?.to === text ? suggestionOf(answer, setText) : []
  const items = [...inOrder(text, found ?? [], commands), ...suggested]
  const open = (item: Item | undefined): void => {
    if (!item) return
    if ('run' in item) return void item.run().then((isDone) => isDone && close())
    close()
    go(item.route, item.look)
  }
  const onKey = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setChosen((at) => Math.min(at + 1, items.length - 1))
    else if (event.key === 'ArrowUp') setChosen((at) => Math.max(at - 1, 0))
    else if (event.key === 'Enter') open(items[chosen])
    // The browser would clear the field instead.
    else if (event.key === 'Escape') close()
    else return
    event.preventDefault()
  }
  const focus = (): void => input.current?.focus()
  return (
    <dialog class="palette" ref={box} aria-label="Find" {...handlers}>
      <input
        ref={input}
        type="search"
        role="combobox"
        list={undefined}
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={items[chosen] ? `found-${chosen}` : undefined}
        aria-label="Find"
        placeholder="Find sessions, messages or commands"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      <div class="filters">
        <div class="pills" role="group" aria-label="Filters">
          {searchFilters.map((one) => (
            <button
              key={one.name}
              type="button"
              aria-pressed={one === filter}
              onClick={() => {
                setFilter(one)
                focus()
              }}
            >
              {one.name}
            </button>
          ))}
        </div>
        <Repositories sessions={known ?? []} value={repo} set={(path) => (setRepo(path), focus())} />
      </div>
      {problem && <Problem text={problem} />}
      <ul id="found" role="listbox" aria-label="Found">
        {items.map((item, i) => (
          <Option
            key={`${item.group}${item.title}${i}`}
            item={item}
            id={`found-${i}`}
            isFirst={items[i - 1]?.group !== item.group}
            isChosen={i === chosen}
            open={() => open(item)}
            choose={() => setChosen(i)}
          />
        ))}
        {items.length === 0 && (
          <li class="faint">{found ? 'Nothing found. Try other words or another filter.' : 'Looking…'}</li>
        )}
      </ul>
    </dialog>
  )
}

function suggestionOf({ suggestion }: FoundAll, search: (text: string) => void): Command[] {
  if (suggestion === undefined) return []
  const run = async (): Promise<boolean> => {
    search(suggestion)
    // The palette stays open.
    return false
  }
  return [{ group: 'Did you mean', title: suggestion, detail: '', run }]
}

/** The earlier results stay until the new ones have arrived. */
function isAnswered(text: string, by: string): boolean {
  return text === by || (by.trim() !== '' && text.startsWith(by))
}

interface RepositoriesProps {
  sessions: NativeSession[]
  value: string
  set: (path: string) => void
}

function Repositories({ sessions, value, set }: RepositoriesProps) {
  const paths = [...new Set(sessions.map((session) => session.repoPath))]
  return (
    <select aria-label="Repository" value={value} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">every repository</option>
      {paths.map((path) => (
        <option key={path} value={path}>
          {visible(shortPath(path))}
        </option>
      ))}
    </select>
  )
}

/** An exact name first; otherwise search results before commands. */
function inOrder(text: string, found: Found[], commands: Command[]): Item[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return [...commands, ...found]
  const fitting = commands.filter((command) => matches(command, wanted))
  const byName = fitting.filter(({ title }) => title.toLowerCase().startsWith(wanted))
  return [...byName, ...found, ...fitting.filter((command) => !byName.includes(command))]
}

/** True if the text contains every typed word. */
function matches(command: Command, text: string): boolean {
  const said = `${command.title} ${command.detail}`.toLowerCase()
  return text.split(/\s+/).every((word) => said.includes(word))
}

interface OptionProps {
  item: Item
  id: string
  /** Of its group. */
  isFirst: boolean
  isChosen: boolean
  open: () => void
  choose: () => void
}

function Option({ item, id, isFirst, isChosen, open, choose }: OptionProps) {
  const line = useRef<HTMLLIElement>(null)
  useLayoutEffect(() => {
    if (isChosen) line.current?.scrollIntoView({ block: 'nearest' })
  }, [isChosen])
  return (
    <li ref={line} id={id} role="option" aria-selected={isChosen} onClick={open} onMouseMove={choose}>
      {isFirst && <span class="group">{visible(item.group)}</span>}
      <span class="title">
        <Marked text={item.title} marks={'marks' in item ? (item.marks ?? []) : []} />
      </span>
      <span class="faint detail">{visible(item.detail)}</span>
    </li>
  )
}

function Marked({ text, marks }: { text: string; marks: Array<[number, number]> }) {
  const parts: ComponentChildren[] = []
  let from = 0
  for (const [start, end] of marks) {
    parts.push(visible(text.slice(from, start)), <mark key={start}>{visible(text.slice(start, end))}</mark>)
    from = end
  }
  return (
    <>
      {parts}
      {visible(text.slice(from))}
    </>
  )
}
