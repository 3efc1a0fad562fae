import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { useEffect, useRef, useState } from 'react'
import type { IconName } from './icons.tsx'
import { Icon } from './icons.tsx'
import { inertLine } from './inert-text.ts'

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: 'normal' | 'primary' | 'quiet' | 'danger'
  icon?: IconName
  /** The key that does the same. */
  hotkey?: string
}

export function Button({ kind = 'normal', icon, hotkey, children, className = '', ...rest }: ButtonProps) {
  return (
    <button type="button" className={`button button-${kind} ${className}`} {...rest}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
      {hotkey === undefined ? null : <Key>{hotkey}</Key>}
    </button>
  )
}

/** A button with an icon only; `label` is its name and tooltip. */
export function IconButton({ icon, label, className = '', ...rest }: { icon: IconName; label: string } & ButtonProps) {
  return (
    <button type="button" className={`icon-button ${className}`} aria-label={label} title={label} {...rest}>
      <Icon name={icon} />
    </button>
  )
}

/** A choice of one in a row of buttons. */
export function Segments<Value extends string>(props: {
  label: string
  options: readonly { value: Value; label: string; title?: string }[]
  value: Value
  onChange: (value: Value) => void
}) {
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">{props.label}</legend>
      {props.options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === props.value}
          title={option.title}
          onClick={() => props.onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  )
}

/** A filter that is on or off. */
export function Chip(props: {
  on: boolean
  onToggle: () => void
  children: ReactNode
  count?: number
  title?: string
}) {
  return (
    <button type="button" className="chip" aria-pressed={props.on} title={props.title} onClick={props.onToggle}>
      {props.children}
      {props.count === undefined ? null : <b>{props.count}</b>}
    </button>
  )
}

export function Tag({ children }: { children: string }) {
  return <span className="tag">{inertLine(children, 40)}</span>
}

/** A key of the keyboard. */
export function Key({ children }: { children: string }) {
  return (
    <span className="key" aria-hidden="true">
      <kbd>{children}</kbd>
    </span>
  )
}

/** Copies a text, and says so for two seconds. */
export function CopyButton({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const [copied, setCopied] = useState<'no' | 'yes' | 'refused'>('no')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const copy = async () => {
    const done = await copyToClipboard(typeof text === 'string' ? text : text())
    setCopied(done ? 'yes' : 'refused')
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setCopied('no'), 2000)
  }
  const name = copied === 'yes' ? 'Copied' : copied === 'refused' ? 'The browser refused to copy' : label
  return <IconButton icon={copied === 'yes' ? 'check' : 'copy'} label={name} onClick={() => void copy()} />
}

/** Whether the text is on the clipboard now. */
export async function copyToClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** Shows `text` below its child while the pointer or the focus is on it. */
export function Tooltip({ text, children }: { text: string; children: ReactNode }) {
  return (
    <span className="tooltip-place">
      {children}
      <span className="tooltip" role="tooltip">
        {inertLine(text, 300)}
      </span>
    </span>
  )
}
