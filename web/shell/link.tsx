import type { AnchorHTMLAttributes, MouseEvent } from 'react'
import type { Place } from './router.ts'
import { hrefOf, navigate } from './router.ts'

/** A link to a place of the viewer: a real address, followed without loading the page again. */
export function Link({ to, onClick, ...rest }: { to: Place } & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'>) {
  const follow = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    const newTab = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0
    if (event.defaultPrevented || newTab) return
    event.preventDefault()
    navigate(to)
  }
  return <a {...rest} href={hrefOf(to)} onClick={follow} />
}
