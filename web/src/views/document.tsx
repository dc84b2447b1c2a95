// One document of a repository.
import { useMemo } from 'preact/hooks'
import { ago, shortPath, visible } from '../format.ts'
import { useLive } from '../live.ts'
import { Link } from '../parts/link.tsx'
import { Markdown } from '../parts/markdown.tsx'
import { Empty, Loaded } from '../parts/states.tsx'
import { VirtualList } from '../parts/virtual-list.tsx'
import { splitText } from '../split-text.ts'

export function Document({ repo, path }: { repo: string; path: string }) {
  const doc = useLive('project.doc', { repo, path })
  return (
    <div class="page document">
      <div class="page-head">
        <h1>{visible(path)}</h1>
        <Link class="button" to={{ view: 'project', path: repo }}>
          ← {visible(shortPath(repo))}
        </Link>
      </div>
      <Loaded live={doc}>
        {({ text, changedAt, bytes, isCut }) => (
          <>
            <p class="faint">
              {(bytes / 1024).toFixed(bytes < 10_240 ? 1 : 0)} KB · changed: {ago(changedAt)}
              {isCut && ' · only its beginning is shown'}
            </p>
            {text.trim() === '' ? <Empty title="It is empty" /> : <Parts text={text} path={path} />}
          </>
        )}
      </Loaded>
    </div>
  )
}

function Parts({ text, path }: { text: string; path: string }) {
  const isMarkdown = /\.(md|mdx|markdown)$/i.test(path)
  const parts = useMemo(() => splitText(text, isMarkdown), [text, isMarkdown])
  return (
    <VirtualList
      items={parts}
      keyOf={(_, i) => String(i)}
      target={0}
      isWhole
      weightOf={() => 4}
      label={visible(path)}
    >
      {(part) => (isMarkdown ? <Markdown text={part.text} /> : <p class="said">{visible(part.text)}</p>)}
    </VirtualList>
  )
}
