import type { RefObject } from 'react'
import { useState } from 'react'
import { IconButton, Key } from '../design/controls.tsx'
import { Icon, Logo } from '../design/icons.tsx'
import { ConnectionState } from './connection-state.tsx'
import { Link } from './link.tsx'
import { useConnection, useOpenQuestions } from './page-context.ts'
import type { Place } from './router.ts'
import { navigate } from './router.ts'
import { nextTheme, setTheme, useTheme } from './theme.ts'

export function TopBar({ place, searchRef }: { place: Place; searchRef: RefObject<HTMLInputElement | null> }) {
  const open = useOpenQuestions() ?? 0
  const connection = useConnection()
  const theme = useTheme()
  const themeIcon = theme === 'light' ? 'sun' : theme === 'dark' ? 'moon' : 'system'
  return (
    <header className="top-bar">
      <Link to={{ page: 'runs', query: '' }} className="brand" aria-label="Troupe, all runs">
        <Logo />
        <span>Troupe</span>
      </Link>
      {connection.state !== 'static' && (
        <nav aria-label="Pages">
          <Link to={{ page: 'runs', query: '' }} {...current(place.page === 'runs' || place.page === 'run')}>
            Runs
          </Link>
          <Link to={{ page: 'inbox', gateId: null }} {...current(place.page === 'inbox')}>
            Inbox
            {open > 0 ? (
              <b className="badge">
                {open}
                <span className="visually-hidden"> open questions</span>
              </b>
            ) : null}
          </Link>
          <Link to={{ page: 'metrics' }} {...current(place.page === 'metrics')}>
            Metrics
          </Link>
        </nav>
      )}
      <span className="grow" />
      {connection.state !== 'static' && <SearchField searchRef={searchRef} />}
      <ConnectionState connection={connection} />
      <IconButton
        icon={themeIcon}
        label={`Theme: ${theme}. Change with t`}
        onClick={() => setTheme(nextTheme(theme))}
      />
    </header>
  )
}

function current(is: boolean): { 'aria-current'?: 'page' } {
  return is ? { 'aria-current': 'page' } : {}
}

/** Searches the texts of all runs: opens the list with the words as its filter. */
function SearchField({ searchRef }: { searchRef: RefObject<HTMLInputElement | null> }) {
  const [text, setText] = useState('')
  return (
    <search className="top-search">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          navigate({ page: 'runs', query: text.trim() })
          setText('')
          searchRef.current?.blur()
        }}
      >
        <Icon name="search" />
        <input
          ref={searchRef}
          type="text"
          value={text}
          placeholder="Search runs, agents, calls"
          aria-label="Search runs, agents, calls"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') event.currentTarget.blur()
          }}
        />
        <Key>/</Key>
      </form>
    </search>
  )
}
