import { Logo } from '../design/icons.tsx'
import { inertText } from '../design/inert-text.ts'

/** What to do without a token: `troupe serve` prints an address that has one. */
export function SignedOut({ reason }: { reason: 'no_token' | 'refused' | { message: string } }) {
  return (
    <main className="signed-out">
      <Logo />
      <h1>{reason === 'refused' ? 'This address is no longer valid.' : 'You are not signed in.'}</h1>
      <p>Sign in to what serves this page, or open the address that the command prints once in this browser.</p>
      <pre>
        <code>troupe serve --open</code>
      </pre>
      <p className="muted">
        {typeof reason === 'object'
          ? inertText(reason.message, 300)
          : 'The token is never kept in an address: a copied link does not sign anybody in.'}
      </p>
    </main>
  )
}
