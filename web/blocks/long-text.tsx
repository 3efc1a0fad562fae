import type { ReactNode } from 'react'
import { useState } from 'react'
import type { PanelRest } from '../../src/views/panel.ts'
import { formatCountOf } from '../design/format.ts'
import { inertText } from '../design/inert-text.ts'
import { RestNotice, useWholeText } from './whole-text.tsx'

/** A text of many megabytes would freeze the page: more than this is shown on request. */
const SHOWN_AT_FIRST = 20_000

interface LongTextProps {
  text: string
  rest?: PanelRest | undefined
  limit?: number
}

export function LongText({ text, rest, limit = SHOWN_AT_FIRST }: LongTextProps): ReactNode {
  const whole = useWholeText(text, rest)
  const [isAsked, setIsAsked] = useState(false)
  const isDrawn = isAsked || text.length <= limit
  const shown = isDrawn ? whole.text : text.slice(0, limit)
  const left = whole.text.length - shown.length + whole.missing
  if (left === 0) return inertText(shown)
  return (
    <>
      {inertText(shown)}
      <RestNotice
        left={formatCountOf(left, 'more character')}
        whole={whole}
        isDrawn={isDrawn}
        onDraw={() => setIsAsked(true)}
      />
    </>
  )
}
