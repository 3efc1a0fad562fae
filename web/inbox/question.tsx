import type { ReactNode, RefObject } from 'react'
import { useCallback } from 'react'
import type { InboxItem } from '../../src/surfaces/http/contract.ts'
import { Blocks } from '../blocks/block.tsx'
import { LongText } from '../blocks/long-text.tsx'
import type { LoadPart } from '../blocks/whole-text.tsx'
import { decisionContext } from '../blocks/whole-text.tsx'
import { formatDuration, formatTime } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { StateIcon } from '../design/state.tsx'
import { Link } from '../shell/link.tsx'
import { useNow, usePage } from '../shell/page-context.ts'
import { runPlace } from '../shell/router.ts'

/** A question with everything that is needed to decide. `notice` says what happened to it meanwhile. */
export function QuestionText(props: {
  question: InboxItem
  notice: ReactNode
  content: RefObject<HTMLElement | null>
}) {
  const { question, notice, content } = props
  const load = usePartLoader(question)
  const { title, rest } = splitQuestion(question.question)
  const { run } = question
  const place = runPlace(run.run_id, { at: { kind: 'gate', id: question.gate_id } })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard.
    <section className="question-body" ref={content} tabIndex={0} aria-label="Question">
      {notice}
      <h1>{title}</h1>
      <p className="question-place">
        in <Link to={place}>{inertLine(run.title, 160) || run.run_id}</Link>
        {`, ${inertLine(run.pattern, 40)}`}
        {question.asked_by === undefined ? null : `, asked by ${inertLine(question.asked_by, 80)}`}.{' '}
        <WaitingTime since={question.opened_at} />
      </p>
      <decisionContext.Provider value={load} key={question.hash}>
        {rest === '' ? null : (
          <p className="question-rest">
            <LongText text={rest} />
          </p>
        )}
        <Blocks blocks={question.blocks.filter(({ context }) => !context)} />
      </decisionContext.Provider>
    </section>
  )
}

function usePartLoader({ gate_id, hash }: InboxItem): LoadPart {
  const { source } = usePage()
  return useCallback((place) => source.questionPart(gate_id, { ...place, hash }), [source, gate_id, hash])
}

/** The events before and what else is known, beside the question. */
export function QuestionContext({ question }: { question: InboxItem }) {
  const blocks = question.blocks.filter(({ context }) => context)
  if (blocks.length === 0) return null
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard.
    <aside className="question-context" aria-label="Context" tabIndex={0}>
      <Blocks blocks={blocks} />
    </aside>
  )
}

function WaitingTime({ since }: { since: number }) {
  const now = useNow(1000)
  return (
    <span data-ticking="" title={formatTime(since)}>
      Waiting for {formatDuration(Math.max(0, Math.floor((now - since) / 1000) * 1000))}.
    </span>
  )
}

const TITLE_LENGTH = 200

/** The first sentence or line as the title, the rest below it. */
export function splitQuestion(question: string): { title: string; rest: string } {
  const text = question.trim()
  const end = text.search(/\n|[.?!]\s/)
  const cut = end === -1 || end > TITLE_LENGTH ? Math.min(text.length, TITLE_LENGTH) : end + 1
  const title = inertLine(text.slice(0, cut).trim(), TITLE_LENGTH)
  return cut >= text.length ? { title, rest: '' } : { title, rest: text.slice(cut).trim() }
}

export function QuestionNotice({ children, tone }: { children: ReactNode; tone: 'completed' | 'stalled' }) {
  return (
    <div className={`question-notice state-${tone}`} role="status">
      <StateIcon state={tone} />
      <div>{children}</div>
    </div>
  )
}
