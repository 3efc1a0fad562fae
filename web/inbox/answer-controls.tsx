import { useRef } from 'react'
import { Button } from '../design/controls.tsx'
import { capitalize } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { useNarrow } from '../shell/page-context.ts'
import type { GateAnswers } from './gate-answers.ts'

interface AnswerFieldProps {
  answers: GateAnswers
  text: string
  onChange: (text: string) => void
  onSend: () => void
}

export function AnswerField({ answers, text, onChange, onSend }: AnswerFieldProps) {
  const narrow = useNarrow()
  const field = useRef<HTMLTextAreaElement>(null)
  const label = fieldLabel(answers, narrow)
  return (
    <textarea
      ref={field}
      className="field"
      rows={1}
      value={text}
      placeholder={label}
      aria-label={label}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === 'Escape') field.current?.blur()
        if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
        event.preventDefault()
        // A reason alone decides nothing: Enter sends only a text that is an answer by itself.
        if (!answers.textIsReason) onSend()
      }}
    />
  )
}

function fieldLabel({ textIsReason, offered }: GateAnswers, narrow: boolean): string {
  if (textIsReason) return narrow ? 'Reason (optional)' : 'Reason (optional, sent to the agent)'
  return offered.length > 0 ? 'Or answer in your own words' : 'Your answer'
}

interface AnswerButtonsProps {
  answers: GateAnswers
  /** Nothing can be answered at all. */
  disabled: boolean
  /** A refusal can be given, nothing else. */
  locked: boolean
  /** Restarts the sweep that shows the lock; `null` without one. */
  sweep: number | null
  onPress: (answer: string) => void
  /** Set when there is a text to send. */
  onSend: (() => void) | null
}

export function AnswerButtons({ answers, disabled, locked, sweep, onPress, onSend }: AnswerButtonsProps) {
  const { positive, negative, refusal, offered } = answers
  const others = offered.filter((each) => each !== positive && each !== negative)
  const sweepBar = sweep === null ? null : <i key={sweep} className="lock-sweep" />
  const button = (answer: string, kind: 'normal' | 'primary', hotkey?: string) => (
    <Button
      key={answer}
      kind={kind}
      disabled={disabled || (locked && answer !== refusal)}
      className="decision-button"
      {...(hotkey === undefined ? undefined : { hotkey })}
      // The second click of a double click would answer the next question.
      onClick={({ detail }) => (detail > 1 ? undefined : onPress(answer))}
    >
      {capitalize(inertLine(answer, 80))}
      {answer === refusal ? null : sweepBar}
    </Button>
  )
  return (
    <div className="decision-buttons">
      {negative === null ? null : button(negative, 'normal', 'D')}
      {others.map((answer) => button(answer, 'normal'))}
      {onSend !== null || offered.length === 0 ? (
        <Button
          kind="primary"
          className="decision-button"
          disabled={disabled || locked || onSend === null}
          onClick={() => onSend?.()}
        >
          Send answer
          {sweepBar}
        </Button>
      ) : null}
      {positive === null ? null : button(positive, onSend === null ? 'primary' : 'normal', 'A')}
    </div>
  )
}
