// Converts Claude's Markdown to the formatting of each platform. What a platform cannot show (tables, headings) becomes
// something that it can, so that no text is lost.
import { lexer, type Token, type Tokens } from 'marked'

interface Style {
  escape(text: string): string
  bold(text: string): string
  italic(text: string): string
  strike(text: string): string
  code(text: string): string
  block(text: string, language: string): string
  link(text: string, url: string): string
  quote(text: string): string
}

const html: Style = {
  escape: escapeHtml,
  bold: (text) => `<b>${text}</b>`,
  italic: (text) => `<i>${text}</i>`,
  strike: (text) => `<s>${text}</s>`,
  code: (text) => `<code>${escapeHtml(text)}</code>`,
  block: (text, language) =>
    /^[\w+#-]{1,30}$/.test(language)
      ? `<pre><code class="language-${language}">${escapeHtml(text)}</code></pre>`
      : `<pre>${escapeHtml(text)}</pre>`,
  link: (text, url) =>
    /^(https?|tg|mailto):/i.test(url)
      ? `<a href="${escapeHtml(url)}">${text}</a>`
      : `${text} (${escapeHtml(url)})`,
  quote: (text) => `<blockquote>${text}</blockquote>`,
}

const whatsapp: Style = {
  escape: (text) => text,
  bold: (text) => `*${text}*`,
  italic: (text) => `_${text}_`,
  strike: (text) => `~${text}~`,
  code: (text) => `\`${text}\``,
  block: (text) => `\`\`\`${text}\`\`\``,
  link: (text, url) => (text === url ? url : `${text} (${url})`),
  quote: (text) => text.replace(/^/gm, '> '),
}

/** Telegram's HTML. */
export function toTelegramHtml(markdown: string): string {
  return blocks(lexer(markdown), html).trim()
}

export function toWhatsapp(markdown: string): string {
  return blocks(lexer(markdown), whatsapp).trim()
}

/** Discord shows Markdown itself, except tables. */
export function toDiscord(markdown: string): string {
  return lexer(markdown)
    .map((token) => (isTable(token) ? `\`\`\`\n${drawTable(token)}\n\`\`\`\n` : token.raw))
    .join('')
    .trim()
}

/** The text without tags, as a reader sees it. */
export function visibleText(telegramHtml: string): string {
  return telegramHtml
    .replace(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
}

function blocks(tokens: Token[], style: Style): string {
  return tokens.map((token) => block(token, style)).join('')
}

function block(token: Token, style: Style): string {
  const known = token as Tokens.Generic
  switch (token.type) {
    case 'space':
      return ''
    case 'heading':
      return `${style.bold(inline(known.tokens, style))}\n\n`
    case 'code':
      return `${style.block(known['text'], known['lang'] ?? '')}\n\n`
    case 'blockquote':
      return `${style.quote(blocks(known.tokens ?? [], style).trim())}\n\n`
    case 'list':
      return `${list(token as Tokens.List, style)}\n`
    case 'table':
      return `${style.block(drawTable(token as Tokens.Table), '')}\n\n`
    case 'hr':
      return '———\n\n'
    case 'html':
      return style.escape(token.raw)
    case 'text':
      return `${known.tokens ? inline(known.tokens, style) : style.escape(known['text'])}\n`
    default:
      return known.tokens ? `${inline(known.tokens, style)}\n\n` : style.escape(token.raw)
  }
}

function list(token: Tokens.List, style: Style): string {
  const first = token.start || 1
  return token.items
    .map((item, index) => {
      const mark = token.ordered ? `${first + index}.` : '•'
      // The check box is drawn here; `marked` also gives it as a token of its own.
      const box = item.task ? (item.checked ? '☑ ' : '☐ ') : ''
      const tokens = item.tokens.filter((part) => part.type !== 'checkbox')
      const text = blocks(tokens, style)
        .trim()
        .replace(/\n{2,}/g, '\n')
      return `${mark} ${box}${text.replace(/\n/g, '\n  ')}\n`
    })
    .join('')
}

function inline(tokens: Token[] | undefined, style: Style): string {
  return (tokens ?? []).map((token) => span(token as Tokens.Generic, style)).join('')
}

function span(token: Tokens.Generic, style: Style): string {
  switch (token.type) {
    case 'strong':
      return style.bold(inline(token.tokens, style))
    case 'em':
      return style.italic(inline(token.tokens, style))
    case 'del':
      return style.strike(inline(token.tokens, style))
    case 'codespan':
      return style.code(token['text'])
    case 'br':
      return '\n'
    case 'link':
      return style.link(inline(token.tokens, style), token['href'])
    case 'image':
      return style.link(style.escape(token['text'] || token['href']), token['href'])
    case 'checkbox':
      return ''
    case 'html':
      return style.escape(token.raw)
    default:
      return token.tokens ? inline(token.tokens, style) : style.escape(token['text'] ?? token.raw)
  }
}

function isTable(token: Token): token is Tokens.Table {
  return token.type === 'table'
}

function drawTable(table: Tokens.Table): string {
  const rows = [table.header, ...table.rows].map((row) => row.map((cell) => cell.text))
  const widths = table.header.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  )
  lines.splice(1, 0, widths.map((width) => '-'.repeat(width)).join('  '))
  return lines.join('\n')
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
