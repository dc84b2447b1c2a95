// The dashboard's entry: log in, connect, show.
import { render } from 'preact'
import { App } from './app.tsx'
import { keepShell } from './keep-shell.ts'
import { showScheme } from './scheme.ts'

showScheme()
const root = document.getElementById('app')
if (root) render(<App />, root)
keepShell()
