// Renders the Markdown of transcripts safely: only the tokens listed here are rendered, as elements of the page. HTML is never
// created from it; text that looks like HTML is shown as text.
import { marked } from 'marked'
import type { MarkedToken, Token, Tokens } from 'marked'
import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { visible } from '../format.ts'
import { Code } from './code.tsx'
import { Words } from './marked.tsx'

export function Markdown({ text }: { text: string }) {
  return useMemo(() => <div class="markdown">{blocksOf(text)}</div>, [text])
}

/** False if the text says something that a reader of the Markdown does not see: where a picture or a link leads, a definition, words
 *  beside the language of code. */
export function isShownWhole(text: string): boolean {
  let isWhole = true
  let tokens: Token[]
  try {
    tokens = marked.lexer(text, { gfm: true })
  } catch {
    // Nested too deeply.
    return false
  }
  void marked.walkTokens(tokens, (token) => {
    const hasMore =
      token.type === 'def' ||
      token.type === 'image' ||
      (token.type === 'link' && (token.title || token.href !== token.text)) ||
      (token.type === 'code' && /\s/.test(token.lang ?? ''))
    if (hasMore) isWhole = false
  })
  return isWhole
}

/** Characters that change the writing direction can make a command look like another one. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

function blocksOf(text: string): ComponentChildren {
  const seen = text.replace(directions, visible)
  try {
    return all(marked.lexer(seen, { gfm: true }), 0)
  } catch {
    // Nested too deeply: shown as plain text.
    return <pre>{seen}</pre>
  }
}

/** Deeper Markdown is not written by people; it is shown as plain text. */
const maxDepth = 24

function all(tokens: Token[] | undefined, depth: number): ComponentChildren[] {
  if (depth > maxDepth) return (tokens ?? []).map(({ raw }) => raw)
  // Without extensions, marked creates only its own tokens.
  return (tokens as MarkedToken[] | undefined)?.map((token) => shown(token, depth + 1)) ?? []
}

const sameName = { strong: 'strong', em: 'em', del: 'del', paragraph: 'p', blockquote: 'blockquote' } as const

function shown(token: MarkedToken, depth: number): ComponentChildren {
  switch (token.type) {
    case 'paragraph':
    case 'blockquote':
    case 'strong':
    case 'em':
    case 'del': {
      const Name = sameName[token.type]
      return <Name>{all(token.tokens, depth)}</Name>
    }
    case 'text':
      return token.tokens ? all(token.tokens, depth) : <Words text={unescaped(token.text)} />
    case 'heading': {
      // The card has a heading of its own.
      const Name = (['h4', 'h4', 'h5'] as const)[token.depth - 1] ?? 'h6'
      return <Name class={`depth${token.depth}`}>{all(token.tokens, depth)}</Name>
    }
    case 'code':
      return <Code text={token.text} language={token.lang} />
    case 'codespan':
      return <code>{token.text}</code>
    case 'list':
      return listOf(token, depth)
    case 'table':
      return tableOf(token, depth)
    case 'link':
      return linkOf(token, depth)
    case 'hr':
      return <hr />
    case 'br':
      return <br />
    case 'checkbox':
      return token.checked ? '☑ ' : '☐ '
    case 'html':
      return lineBreak.test(token.text) ? <br /> : token.text
    case 'image':
      return token.text || token.href
    case 'escape':
      return token.text
    default:
      // Empty lines and link definitions.
      return null
  }
}

const lineBreak = /^<br\s*\/?>$/i

function listOf(list: Tokens.List, depth: number): JSX.Element {
  const items = list.items.map((item, i) => <li key={i}>{all(item.tokens, depth)}</li>)
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>
}

function tableOf(table: Tokens.Table, depth: number): JSX.Element {
  return (
    <table>
      <thead>
        <tr>
          {table.header.map((cell, i) => (
            <th key={i}>{all(cell.tokens, depth)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((row, i) => (
          <tr key={i}>
            {row.map((cell, j) => (
              <td key={j}>{all(cell.tokens, depth)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** Links to the web only, in a new tab, with the address as the title. */
function linkOf(link: Tokens.Link, depth: number): JSX.Element {
  if (!/^https?:\/\//i.test(link.href)) return <>{all(link.tokens, depth)}</>
  return (
    <a href={link.href} title={link.href} target="_blank" rel="noreferrer noopener">
      {all(link.tokens, depth)}
    </a>
  )
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: '\u00a0' }

/** Decodes the character entities of Markdown. */
function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (whole, name: string) => entities[name] ?? whole)
}
