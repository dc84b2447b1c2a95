// A link within the page: a real address, opened without reloading the page.
import type { ComponentChildren } from 'preact'
import { follow, pathOf } from '../route.ts'
import type { Route } from '../route.ts'

interface LinkProps {
  to: Route
  class?: string
  title?: string
  children: ComponentChildren
}

export function Link({ to, children, ...more }: LinkProps) {
  return (
    <a {...more} href={pathOf(to)} onClick={follow(to)}>
      {children}
    </a>
  )
}
