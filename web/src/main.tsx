// The dashboard's entry.
import { render } from 'preact'

render(<p>Rockpool</p>, document.body)
