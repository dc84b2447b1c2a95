// The login: by the one-time link of `rockpool dashboard`, by its code, or by the gateway's token.
import { useEffect, useState } from 'preact/hooks'
import { isReachable, logIn } from './gateway.ts'
import { Problem } from './parts/states.tsx'

/** The code of a one-time link follows `#`, which browsers do not send to servers. */
export function codeInAddress(): string | undefined {
  return /^#code=([\w-]{8,200})$/.exec(location.hash)?.[1]
}

export function Login({ onIn }: { onIn: () => void }) {
  const [problem, setProblem] = useState<string>()
  // The form appears only if the link does not log in.
  const [isSigningIn, setSigningIn] = useState(codeInAddress() !== undefined)
  const [secret, setSecret] = useState('')
  const enter = async (given: string): Promise<void> => {
    const outcome = await logIn(given)
    if (outcome === 'in') return onIn()
    setSigningIn(false)
    setProblem(
      outcome === 'refused'
        ? 'This link or token is wrong, expired or was used. Run `rockpool dashboard` for a new link.'
        : 'The gateway does not answer.',
    )
  }
  useEffect(() => {
    const given = codeInAddress()
    history.replaceState(null, '', location.pathname)
    if (given) void enter(given)
    else void isReachable().then((reachable) => reachable || setProblem('The gateway does not answer.'))
  }, [])
  if (isSigningIn) {
    return (
      <main class="login">
        <p class="faint signing-in" role="status">
          Signing in…
        </p>
      </main>
    )
  }
  return (
    <main class="login">
      <img src="/icon.svg" alt="" width="56" height="56" />
      <h1>Rockpool</h1>
      <p>
        In a terminal on this machine, run <code>rockpool dashboard</code> and open the link that it prints.
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void enter(secret.trim())
        }}
      >
        <label for="secret">Or enter its code, or the gateway's token</label>
        <input
          id="secret"
          type="password"
          value={secret}
          autocomplete="current-password"
          autofocus
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
        <button type="submit" class="primary" disabled={secret.trim() === ''}>
          Log in
        </button>
      </form>
      {problem && <Problem text={problem} />}
      <p class="faint">
        The token is the line in <code>credentials/gateway-token</code> of the state folder, usually{' '}
        <code>~/.rockpool</code>.
      </p>
    </main>
  )
}
