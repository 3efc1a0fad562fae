import type { ErrorInfo, ReactNode } from 'react'
import { Component } from 'react'
import { Button } from '../design/controls.tsx'
import { inertText } from '../design/inert-text.ts'
import { ErrorState } from '../design/notice.tsx'

/** Keeps a mistake in one page from taking the frame with it. React has no form of this without a class. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null }

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error }
  }

  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error('page failed', error, info.componentStack)
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === null) return this.props.children
    return (
      <ErrorState
        title="This page cannot be shown."
        action={<Button onClick={() => this.setState({ error: null })}>Try again</Button>}
      >
        {inertText(error.message, 300)} Reload the page; if it stays, the console has the details. Runs are not
        affected.
      </ErrorState>
    )
  }
}
