import type { FormEvent } from 'react'
import { useId, useMemo, useState } from 'react'
import type { PageSession } from '../../src/surfaces/http/contract.ts'
import { SourceError } from '../data/source.ts'
import { Button } from '../design/controls.tsx'
import { inertLine, inertText } from '../design/inert-text.ts'
import { StateText } from '../design/state.tsx'
import { Dialog } from '../shell/dialog.tsx'
import { usePage } from '../shell/page-context.ts'
import { navigate, runPlace } from '../shell/router.ts'
import type { FieldTexts, InputField } from './input-fields.ts'
import { fieldInMessage, inputFields, readInput } from './input-fields.ts'

type PatternItem = PageSession['patterns'][number]

/** Starts a run: a form made from the schema of the chosen pattern. */
export function NewRunDialog({ onClose }: { onClose: () => void }) {
  const { session } = usePage()
  const [chosen, setChosen] = useState(session.patterns[0]?.name ?? '')
  const pattern = session.patterns.find(({ name }) => name === chosen)
  const selectId = useId()
  return (
    <Dialog title="New run" onClose={onClose}>
      {pattern === undefined ? (
        <p>This server has no pattern that can be started from here.</p>
      ) : (
        <>
          <label className="form-field" htmlFor={selectId}>
            <span className="form-label">Pattern</span>
            <select id={selectId} className="field" value={chosen} onChange={(event) => setChosen(event.target.value)}>
              {session.patterns.map(({ name }) => (
                <option key={name}>{name}</option>
              ))}
            </select>
            <span className="form-note">{inertText(pattern.description, 300)}</span>
          </label>
          <InputForm key={pattern.name} pattern={pattern} onClose={onClose} />
        </>
      )}
    </Dialog>
  )
}

function InputForm({ pattern, onClose }: { pattern: PatternItem; onClose: () => void }) {
  const { source } = usePage()
  const fields = useMemo(() => inputFields(pattern.input), [pattern])
  const [texts, setTexts] = useState<FieldTexts>({})
  const [tags, setTags] = useState('')
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const [sending, setSending] = useState(false)
  const [first, ...others] = fields
  const optional = others.filter(({ required }) => !required)
  const control = (field: InputField, focus = false) => (
    <FormField
      key={field.name}
      field={field}
      text={texts[field.name] ?? ''}
      problem={problems[field.name]}
      focus={focus}
      onChange={(text) => setTexts({ ...texts, [field.name]: text })}
    />
  )
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const read = readInput(fields, texts)
    if ('problems' in read) return setProblems(read.problems)
    setProblems({})
    setSending(true)
    try {
      const labels = tags.split(/[\s,]+/).filter(Boolean)
      const started = await source.commands?.start(pattern.name, read.input, { tags: labels })
      onClose()
      if (started) navigate(runPlace(started.run_id))
    } catch (error) {
      setSending(false)
      setProblems(toProblems(fields, error))
    }
  }
  const isOpen = optional.some(({ name }) => problems[name] !== undefined)
  return (
    <form className="new-run-form" onSubmit={(event) => void submit(event)}>
      {first === undefined ? null : control(first, true)}
      {others.filter(({ required }) => required).map((field) => control(field))}
      {optional.length === 0 ? null : (
        <details open={isOpen || undefined}>
          <summary>More settings</summary>
          {optional.map((field) => control(field))}
        </details>
      )}
      <label className="form-field">
        <span className="form-label">Tags</span>
        <input
          className="field"
          value={tags}
          placeholder="separated by spaces"
          onChange={(event) => setTags(event.target.value)}
        />
      </label>
      {problems[''] === undefined ? null : (
        <p role="alert">
          <StateText state="failed">{inertLine(problems[''], 400)}</StateText>
        </p>
      )}
      <div className="dialog-actions">
        <Button onClick={onClose}>Close</Button>
        <Button kind="primary" type="submit" disabled={sending}>
          Start
        </Button>
      </div>
    </form>
  )
}

/** The problems of fields by name; what is about no field stands under the empty name. */
function toProblems(fields: readonly InputField[], error: unknown): Record<string, string> {
  const message = error instanceof Error ? error.message : String(error)
  const text = error instanceof SourceError && error.hint ? `${message} ${error.hint}` : message
  return { [fieldInMessage(fields, message) ?? '']: text }
}

interface FormFieldProps {
  field: InputField
  text: string
  problem: string | undefined
  focus: boolean
  onChange: (text: string) => void
}

function FormField({ field, text, problem, focus, onChange }: FormFieldProps) {
  const id = useId()
  return (
    <div className="form-field">
      <label className="form-label" htmlFor={id}>
        {inertLine(field.name, 60)}
        {field.required ? null : <span className="muted"> optional</span>}
      </label>
      <FieldControl
        id={id}
        field={field}
        text={text}
        invalid={problem !== undefined}
        focus={focus}
        onChange={onChange}
      />
      {problem === undefined ? null : (
        <span className="form-problem" role="alert" id={`${id}-problem`}>
          <StateText state="failed">{inertLine(problem, 400)}</StateText>
        </span>
      )}
      {field.description === '' ? null : <span className="form-note">{inertText(field.description, 240)}</span>}
    </div>
  )
}

function FieldControl(props: Omit<FormFieldProps, 'problem'> & { id: string; invalid: boolean }) {
  const { id, field, text, invalid, focus, onChange } = props
  const shared = {
    id,
    className: field.kind === 'json' ? 'field mono' : 'field',
    value: text,
    'aria-invalid': invalid,
    'aria-required': field.required,
    'aria-describedby': invalid ? `${id}-problem` : undefined,
    placeholder: field.standard,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  }
  if (field.kind === 'choice' || field.kind === 'switch')
    return (
      <select {...shared}>
        <option value="">{field.standard === '' ? '' : `${field.standard} (default)`}</option>
        {(field.kind === 'switch' ? ['true', 'false'] : field.choices).map((choice) => (
          <option key={choice} value={choice}>
            {inertLine(choice, 60)}
          </option>
        ))}
      </select>
    )
  if (field.kind === 'line' || field.kind === 'number')
    return <input {...shared} inputMode={field.kind === 'number' ? 'decimal' : 'text'} />
  const placeholder = field.kind === 'lines' ? 'one per line' : field.kind === 'json' ? 'JSON' : ''
  return (
    <textarea
      {...shared}
      placeholder={field.standard || placeholder}
      rows={field.kind === 'text' ? 4 : 2}
      {...(focus ? { 'data-first-focus': '' } : undefined)}
    />
  )
}
