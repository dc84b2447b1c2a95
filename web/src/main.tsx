// The dashboard's entry: log in, connect, show.
import { render } from 'preact'
import { App } from './app.tsx'

const root = document.getElementById('app')
if (root) render(<App />, root)
