import type { RefObject } from 'react'
import { useState } from 'react'
import type { InboxItem } from '../../src/surfaces/http/contract.ts'
import { capitalize } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { StateText } from '../design/state.tsx'
import { useKeys } from '../shell/keys.ts'
import { announce } from '../shell/live-region.tsx'
import { hasScope, useConnection, usePage } from '../shell/page-context.ts'
import { AnswerButtons, AnswerField } from './answer-controls.tsx'
import type { GateAnswers } from './gate-answers.ts'
import { answersOf, answerWithText } from './gate-answers.ts'
import { useDecisionLock } from './use-decision-lock.ts'

interface DecisionBarProps {
  question: InboxItem
  content: RefObject<HTMLElement | null>
  position: string
  /** Sends the answer; resolves to the problem, or to nothing. */
  onAnswer: (answer: string) => Promise<string | null>
}

/** The answers to a question. Those that allow something act only 500 ms after the page last moved, a refusal at once; all only for a token that may approve. */
export function DecisionBar({ question, content, position, onAnswer }: DecisionBarProps) {
  const { session, source } = usePage()
  const answers = answersOf(question)
  const { positive, negative, refusal } = answers
  const lock = useDecisionLock(content, question.gate_id + question.hash)
  const [text, setText] = useState('')
  const [sending, setSending] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  const mayApprove = source.commands !== null && hasScope(session, 'approve')
  const disabled = sending || !mayApprove
  const send = async (answer: string) => {
    if (disabled || answer === '') return
    setSending(true)
    setProblem(null)
    const refused = await onAnswer(answer)
    setSending(false)
    setProblem(refused)
    if (refused === null) announce(`Answered: ${inertLine(answer, 60)}`)
  }
  const press = (answer: string) => {
    if (!lock.locked || answer === refusal) void send(answerWithText(answer, text, answers))
  }
  const sendText = () => {
    if (!lock.locked) void send(text.trim())
  }
  const keys = [
    ['a', positive],
    ['d', negative],
  ] as const
  useKeys(
    'Inbox',
    keys.flatMap(([key, answer]) =>
      answer === null ? [] : [{ keys: key, label: capitalize(answer), run: ({ repeat }) => repeat || press(answer) }],
    ),
  )
  if (!mayApprove) return <ReadOnlyBar position={position} />
  return (
    <footer className="decision-bar" data-locked={lock.locked ? '' : undefined}>
      {answers.freeText ? <AnswerField answers={answers} text={text} onChange={setText} onSend={sendText} /> : null}
      <AnswerButtons
        answers={answers}
        disabled={disabled}
        locked={lock.locked}
        sweep={lock.locked && !lock.incomplete && !sending ? lock.turn : null}
        onPress={press}
        onSend={answers.freeText && !answers.textIsReason && text.trim() !== '' ? sendText : null}
      />
      <p className="decision-hint">
        <DecisionHint answers={answers} problem={problem} sending={sending} incomplete={lock.incomplete} />
        <span className="grow" />
        <span>{position}</span>
      </p>
    </footer>
  )
}

function ReadOnlyBar({ position }: { position: string }) {
  return (
    <footer className="decision-bar decision-note">
      <StateText state="cancelled">Your token may not approve. Somebody with the scope “approve” can answer.</StateText>
      <span className="grow" />
      <span className="muted">{position}</span>
    </footer>
  )
}

function DecisionHint(props: { answers: GateAnswers; problem: string | null; sending: boolean; incomplete: boolean }) {
  const { answers, problem, sending, incomplete } = props
  const connected = useConnection().state === 'live'
  if (problem !== null)
    return (
      <span role="alert">
        <StateText state="failed">{inertLine(problem, 300)}</StateText>
      </span>
    )
  if (sending) return <span>Sending…</span>
  const { textIsReason, positive, refusal } = answers
  const atOnce = refusal === null ? '' : `${capitalize(refusal)} works at once. `
  if (incomplete)
    return (
      <span role="alert">
        <StateText state="waiting">
          {`Part of this question is still hidden. Show the rest above, then decide. ${atOnce}`}
        </StateText>
      </span>
    )
  if (!connected) return <span>No connection. The question may have been answered meanwhile.</span>
  const scope = textIsReason && positive !== null ? `${capitalize(positive)} covers this exact call once. ` : ''
  const unlock = refusal === null ? 'Buttons unlock' : 'The other buttons unlock'
  return <span>{`${scope}${atOnce}${unlock} 0.5 s after the page last moved.`}</span>
}
