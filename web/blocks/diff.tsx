import type { ReactNode } from 'react'
import { useMemo, useState } from 'react'
import type { PanelRest } from '../../src/views/panel.ts'
import { formatCountOf } from '../design/format.ts'
import { inertText } from '../design/inert-text.ts'
import { StateIcon } from '../design/state.tsx'
import type { DiffLine } from './diff-lines.ts'
import { diffCounts, diffLines } from './diff-lines.ts'
import { keyed } from './keyed.ts'
import { RestNotice, useWholeText } from './whole-text.tsx'

/** More lines than this are drawn on request: a decision needs the whole diff, but not at the price of a frozen page. */
export const DIFF_LINES_AT_FIRST = 2_000

export function DiffBlock({
  path,
  diff,
  rest,
}: {
  path: string
  diff: string
  rest?: PanelRest | undefined
}): ReactNode {
  const whole = useWholeText(diff, rest)
  const lines = useMemo(() => diffLines(path, whole.text), [path, whole.text])
  const [isDrawn, setIsDrawn] = useState(lines.length <= DIFF_LINES_AT_FIRST)
  const { added, removed } = diffCounts(lines)
  const shown = isDrawn ? lines : lines.slice(0, DIFF_LINES_AT_FIRST)
  const atLeast = whole.missing > 0 ? 'at least ' : ''
  return (
    <figure className="diff">
      <figcaption className="diff-head">
        <code>{inertText(path)}</code>
        <span className="diff-counts">
          {atLeast}
          <span className="diff-added">+{added}</span> <span className="diff-removed">−{removed}</span>
        </span>
      </figcaption>
      <div className="scroll-x">
        <table className="diff-lines" aria-label={`Changes of ${inertText(path)}`}>
          <tbody>
            {keyed(shown, ({ kind, before, after }) => `${kind} ${before} ${after}`).map(({ key, item }) => (
              <Line key={key} line={item} />
            ))}
          </tbody>
        </table>
      </div>
      {(!isDrawn || whole.missing > 0) && (
        <div className="diff-rest">
          <RestNotice
            left={
              isDrawn
                ? formatCountOf(whole.missing, 'more character')
                : atLeast + formatCountOf(lines.length - shown.length, 'more line')
            }
            whole={whole}
            isDrawn={isDrawn}
            onDraw={() => setIsDrawn(true)}
          />
        </div>
      )}
    </figure>
  )
}

const SIGNS = { add: '+', remove: '−', context: '', hunk: '', meta: '' }
const SPOKEN = { add: 'added', remove: 'removed', context: '', hunk: '', meta: '' }

function Line({ line }: { line: DiffLine }): ReactNode {
  if (line.kind === 'hunk' || line.kind === 'meta')
    return (
      <tr className={`diff-${line.kind}`}>
        <td colSpan={4}>{inertText(line.pieces.map(({ text }) => text).join(''))}</td>
      </tr>
    )
  return (
    <tr className={`diff-${line.kind}`}>
      <td className="diff-number">{line.before}</td>
      <td className="diff-number">{line.after}</td>
      <td className="diff-sign">
        <span aria-hidden="true">{SIGNS[line.kind]}</span>
        <span className="visually-hidden">{SPOKEN[line.kind]}</span>
      </td>
      <td className="diff-text">
        {keyed(line.pieces, ({ mark }) => String(mark)).map(({ key, item: { text, mark } }) =>
          mark ? <mark key={key}>{inertText(text)}</mark> : <span key={key}>{inertText(text)}</span>,
        )}
        {line.note !== null && (
          <span className="diff-note">
            <StateIcon state="waiting" /> {line.note}
          </span>
        )}
      </td>
    </tr>
  )
}
