// Code as it is read: with simple colours, a button that copies it, and the changes of an edit as a difference.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { lineDiff } from '../../../src/domain/line-diff.ts'
import type { DiffLine } from '../../../src/domain/line-diff.ts'
import { visible } from '../format.ts'

/** Longer code is shown without colours: they would cost more than they help. */
const maxColoured = 20_000

export function Code({ text, language = '' }: { text: string; language?: string }) {
  const seen = visible(text)
  return (
    <div class="code">
      <pre>
        <code>{seen.length > maxColoured ? seen : coloured(seen, language)}</code>
      </pre>
      <Copy text={text} />
    </div>
  )
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <button type="button" class="quiet copy-button" onClick={() => void copy()}>
      {copied ? 'Copied' : label}
    </button>
  )
}

const hashComments = /^(sh|bash|shell|zsh|py|python|rb|ruby|ya?ml|toml|make(file)?|dockerfile|r|perl)$/
const keywords =
  'abstract|and|as|async|await|break|case|catch|class|const|continue|def|default|defer|del|delete|do|done|elif|else|enum|esac|except|export|extends|false|fi|final|finally|fn|for|from|func|function|go|if|impl|implements|import|in|interface|is|lambda|let|match|mod|mut|new|nil|None|not|null|of|or|package|pass|private|protected|pub|public|raise|readonly|return|self|static|struct|super|switch|then|this|throw|trait|true|True|False|try|type|typeof|undefined|use|var|void|where|while|with|yield'

/** Comments, strings, numbers and the keywords of common languages. */
function coloured(text: string, language: string): ComponentChildren[] {
  if (/^(text|txt|diff|markdown|md)$/.test(language)) return [text]
  const comment = hashComments.test(language) ? '#[^\\n]*' : '//[^\\n]*|/\\*[\\s\\S]*?\\*/'
  const pattern = new RegExp(
    `(?<comment>${comment})|(?<string>"(?:\\\\.|[^"\\\\\\n])*"|'(?:\\\\.|[^'\\\\\\n])*'|\`(?:\\\\.|[^\`\\\\])*\`)|(?<number>\\b\\d[\\w.]*)|(?<keyword>\\b(?:${keywords})\\b)`,
    'g',
  )
  const parts: ComponentChildren[] = []
  let from = 0
  for (const match of text.matchAll(pattern)) {
    const [kind] = Object.entries(match.groups ?? {}).find(([, part]) => part !== undefined) ?? []
    parts.push(
      text.slice(from, match.index),
      <span key={match.index} class={`token ${kind}`}>
        {match[0]}
      </span>,
    )
    from = match.index + match[0].length
  }
  return [...parts, text.slice(from)]
}

interface Edit {
  old_string?: string
  new_string?: string
}

/** The change of Edit, MultiEdit or Write to a file, from its input in Claude Code's form. */
export function Changes({ input }: { input: Record<string, unknown> }) {
  const { old_string, new_string: after, content, edits } = input
  const before = typeof old_string === 'string' ? old_string : ''
  if (typeof after === 'string') return <Diff before={before} after={after} />
  if (typeof content === 'string') return <Diff before="" after={content} />
  return (
    <>
      {(Array.isArray(edits) ? (edits as Edit[]) : []).map((edit, i) => (
        <Diff key={i} before={edit.old_string ?? ''} after={edit.new_string ?? ''} />
      ))}
    </>
  )
}

/** The difference of an edit, line by line, with a sign and a colour. */
function Diff({ before, after }: { before: string; after: string }) {
  return (
    <pre class="diff">
      {lineDiff(before, after).map(({ sign, line }, i) => (
        <Line key={i} sign={sign} line={visible(line)} />
      ))}
    </pre>
  )
}

function Line({ sign, line }: DiffLine) {
  const text = `${sign} ${line}\n`
  if (sign === '-') return <del>{text}</del>
  return sign === '+' ? <ins>{text}</ins> : <span>{text}</span>
}
