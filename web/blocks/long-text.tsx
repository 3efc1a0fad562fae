import type { ReactNode } from 'react'
import { useState } from 'react'
import { Button } from '../design/controls.tsx'
import { formatCountOf } from '../design/format.ts'
import { inertText } from '../design/inert-text.ts'

/** A text of many megabytes would freeze the page: more than this is shown on request. */
const SHOWN_AT_FIRST = 20_000

export function LongText({ text, limit = SHOWN_AT_FIRST }: { text: string; limit?: number }): ReactNode {
  const [whole, setWhole] = useState(false)
  if (whole || text.length <= limit) return inertText(text)
  return (
    <>
      {inertText(text.slice(0, limit))}
      <span className="cut-text" data-incomplete="">
        … {formatCountOf(text.length - limit, 'more character')}{' '}
      </span>
      <Button onClick={() => setWhole(true)}>Show all</Button>
    </>
  )
}
