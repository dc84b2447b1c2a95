// Markdown of a transcript, made harmless: whatever it says, it can show text and nothing else.
import DOMPurify from 'dompurify'
import { marked } from 'marked'
import { useMemo } from 'preact/hooks'
import { visible } from '../format.ts'

const allowed = {
  ALLOWED_TAGS: [
    'p',
    'br',
    'strong',
    'em',
    'del',
    'code',
    'pre',
    'ul',
    'ol',
    'li',
    'blockquote',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'table',
    'thead',
    'tbody',
    'tr',
    'th',
    'td',
    'hr',
    'a',
  ],
  ALLOWED_ATTR: ['href'],
  ALLOWED_URI_REGEXP: /^https?:\/\//i,
}

/** Characters that turn the direction of writing can make a command read as another one. */
const directions = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

export function Markdown({ text }: { text: string }) {
  const html = useMemo(() => {
    const seen = text.replace(directions, visible)
    return DOMPurify.sanitize(marked.parse(seen, { async: false, gfm: true }), allowed)
  }, [text])
  // Sanitised above; nothing else in this page sets HTML.
  return <div class="markdown" dangerouslySetInnerHTML={{ __html: html }} />
}
