import { assert, property, string } from 'fast-check'
import { expect, test } from 'vitest'
import { toDiscord, toTelegramHtml, toWhatsapp, visibleText } from './formatting.ts'

const table = '| name | n |\n|---|---|\n| shrimp | 12 |'

test('Telegram gets its own few tags, and everything else as text', () => {
  expect(toTelegramHtml('# A & B\n\n**x** _y_ ~~z~~ `a<b`')).toBe(
    '<b>A &amp; B</b>\n\n<b>x</b> <i>y</i> <s>z</s> <code>a&lt;b</code>',
  )
  expect(toTelegramHtml('<script>alert(1)</script>')).toBe('&lt;script&gt;alert(1)&lt;/script&gt;')
  expect(toTelegramHtml('```ts\na < b\n```')).toBe('<pre><code class="language-ts">a &lt; b</code></pre>')
  expect(toTelegramHtml('- a\n  - b\n- [x] c')).toBe('• a\n  • b\n• ☑ c')
  expect(toTelegramHtml(table)).toBe('<pre>name    n\n------  --\nshrimp  12</pre>')
})

test('a link that is none of the web stays visible text', () => {
  expect(toTelegramHtml('[x](https://a.org/?q="<>&)')).toContain('href="https://a.org/?q=&quot;')
  expect(toTelegramHtml('[x](javascript:alert(1))')).toBe('x (javascript:alert(1))')
})

test('WhatsApp gets its stars and underscores', () => {
  expect(toWhatsapp('# T\n\n**b** *i* ~~s~~ [text](https://a.org)')).toBe(
    '*T*\n\n*b* _i_ ~s~ text (https://a.org)',
  )
  expect(toWhatsapp(`> said\n\n${table}`)).toBe('> said\n\n```name    n\n------  --\nshrimp  12```')
})

test('Discord reads Markdown itself, except tables', () => {
  expect(toDiscord(`**b** [x](https://a.org)\n\n${table}`)).toBe(
    '**b** [x](https://a.org)\n\n```\nname    n\n------  --\nshrimp  12\n```',
  )
})

test('whatever the text, Telegram gets well-formed HTML', () => {
  assert(
    property(string({ maxLength: 200 }), (text) => {
      const html = toTelegramHtml(text)
      const open: string[] = []
      for (const [, end, name] of html.matchAll(/<(\/?)([a-z]+)[^>]*>/g)) {
        if (end) expect(open.pop()).toBe(name)
        else open.push(name!)
      }
      expect(open).toEqual([])
      expect(html.replace(/<[^>]*>/g, '')).not.toMatch(/[<>]/)
      expect(visibleText(html)).not.toMatch(/<\/?(b|i|s|code|pre|a|blockquote)>/)
    }),
  )
})
