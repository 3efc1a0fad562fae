import { useEffect, useState } from 'react'
import type { Connection } from '../data/source.ts'
import { formatTime } from '../design/format.ts'
import { StateIcon } from '../design/state.tsx'
import { announce } from './live-region.tsx'

const PATIENCE_MS = 2000

/** A dot while the page is live; after 2 s without connection a triangle, with the time of the last event. */
export function ConnectionState({ connection }: { connection: Connection }) {
  const broken = connection.state === 'connecting'
  const late = useLate(broken)
  useEffect(() => {
    if (late) announce('Connection lost. Reconnecting.')
  }, [late])
  if (connection.state === 'static')
    return <span className="connection muted">Exported {formatTime(connection.exported_at)}, read-only</span>
  if (connection.state === 'signed_out')
    return (
      <span className="connection state-stalled">
        <StateIcon state="stalled" /> Signed out
      </span>
    )
  if (!broken || !late)
    return (
      <span className="connection">
        <i className={broken ? 'live-dot live-dot-off' : 'live-dot'} />
        <span>{broken ? 'Connecting' : 'Live'}</span>
      </span>
    )
  const { since } = connection
  return (
    <span className="connection connection-broken state-stalled">
      <StateIcon state="stalled" />
      <span className="connection-long">
        {since === null ? 'Reconnecting' : `Reconnecting, last event ${formatTime(since)}`}
      </span>
      <span className="connection-short">{since === null ? 'Offline' : formatTime(since)}</span>
    </span>
  )
}

/** True when `broken` has been true for 2 s. */
function useLate(broken: boolean): boolean {
  const [late, setLate] = useState(false)
  useEffect(() => {
    if (!broken) return setLate(false)
    const timer = setTimeout(() => setLate(true), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [broken])
  return broken && late
}
