// The sanitiser of the page: Markdown of a transcript is read into parts, and only parts that are named here are shown, as
// elements of our own making. No HTML is ever made from it; what looks like HTML is shown as the text that it is.
import { marked } from 'marked'
import type { MarkedToken, Token, Tokens } from 'marked'
import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { visible } from '../format.ts'

export function Markdown({ text }: { text: string }) {
  return useMemo(() => <div class="markdown">{blocksOf(text)}</div>, [text])
}

/** Characters that turn the direction of writing can make a command read as another one. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

function blocksOf(text: string): ComponentChildren {
  const seen = text.replace(directions, visible)
  try {
    return all(marked.lexer(seen, { gfm: true }))
  } catch {
    // Nested too deeply to be read as Markdown by anybody: as it was written.
    return <pre>{seen}</pre>
  }
}

function all(tokens: Token[] | undefined): ComponentChildren[] {
  // Without extensions, marked makes its own tokens only.
  return (tokens as MarkedToken[] | undefined)?.map(shown) ?? []
}

const sameName = { strong: 'strong', em: 'em', del: 'del', paragraph: 'p', blockquote: 'blockquote' } as const

function shown(token: MarkedToken): ComponentChildren {
  switch (token.type) {
    case 'paragraph':
    case 'blockquote':
    case 'strong':
    case 'em':
    case 'del': {
      const Name = sameName[token.type]
      return <Name>{all(token.tokens)}</Name>
    }
    case 'text':
      return token.tokens ? all(token.tokens) : unescaped(token.text)
    case 'heading':
      return <Heading depth={token.depth}>{all(token.tokens)}</Heading>
    case 'code':
      return (
        <pre>
          <code>{token.text}</code>
        </pre>
      )
    case 'codespan':
      return <code>{token.text}</code>
    case 'list':
      return <List list={token} />
    case 'table':
      return <Table table={token} />
    case 'link':
      return <Link link={token} />
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
      // Empty lines, and where a link of another place leads.
      return null
  }
}

const lineBreak = /^<br\s*\/?>$/i

function Heading({ depth, children }: { depth: number; children: ComponentChildren }) {
  // Within a card, which has a heading of its own.
  const Name = (['h4', 'h4', 'h5'][depth - 1] ?? 'h6') as 'h4' | 'h5' | 'h6'
  return <Name class={`depth${depth}`}>{children}</Name>
}

function List({ list }: { list: Tokens.List }): JSX.Element {
  const items = list.items.map((item, i) => <li key={i}>{all(item.tokens)}</li>)
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    <table>
      <thead>
        <tr>
          {table.header.map((cell, i) => (
            <th key={i}>{all(cell.tokens)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((row, i) => (
          <tr key={i}>
            {row.map((cell, j) => (
              <td key={j}>{all(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/** To the web and nowhere else, in a tab of its own; the address is told to whoever points at it. */
function Link({ link }: { link: Tokens.Link }) {
  if (!/^https?:\/\//i.test(link.href)) return <>{all(link.tokens)}</>
  return (
    <a href={link.href} title={link.href} target="_blank" rel="noreferrer noopener">
      {all(link.tokens)}
    </a>
  )
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", nbsp: '\u00a0' }

/** Markdown writes a few characters by their names. */
function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (whole, name: string) => entities[name] ?? whole)
}
