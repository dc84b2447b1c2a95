// The part of a session's work that is still in HEAD: its commits, and its lines by file.
import { ago, count, visible } from '../format.ts'
import { useLive } from '../live.ts'
import { Link } from './link.tsx'
import { Loaded } from './states.tsx'

export function LivingLines({ id }: { id: string }) {
  const lines = useLive('why.session', { id })
  return (
    <section aria-label="Still in HEAD">
      <h2>Still in HEAD</h2>
      <Loaded live={lines}>
        {({ repo, commits, files, aliveLines, uncommittedLines, filesLeftOut }) => {
          if (repo === '') return <p class="faint">Its folder is gone, or is not a git repository.</p>
          if (commits.length + files.length === 0) return <p class="faint">None of its lines.</p>
          return (
            <>
              <p class="faint">
                {count(aliveLines, 'line')}
                {uncommittedLines > 0 && `, ${uncommittedLines} not committed`}
                {filesLeftOut > 0 && `; ${count(filesLeftOut, 'more file')} not looked at`}
              </p>
              <ul class="names">
                {commits.map(({ sha, subject, at, lines: own }) => (
                  <li key={sha}>
                    <Link to={{ view: 'why', repo, target: sha }}>
                      <code>{sha.slice(0, 8)}</code> {visible(subject)}
                    </Link>{' '}
                    <span class="faint">
                      {count(own, 'line')} · {ago(at)}
                    </span>
                  </li>
                ))}
                {files.map(({ file, lines: own }) => (
                  <li key={file}>
                    <Link to={{ view: 'why', repo, target: file }}>{visible(file)}</Link>{' '}
                    <span class="faint">{count(own, 'line')}</span>
                  </li>
                ))}
              </ul>
            </>
          )
        }}
      </Loaded>
    </section>
  )
}
