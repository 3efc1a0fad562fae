import { expect, test } from 'vitest'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { RequestRecord } from '../../../views/detail/recorded-requests.ts'
import { requestLines } from './request-lines.ts'

function request(number: number, ...texts: string[]): RequestRecord {
  const messages = texts.map((text) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] }))
  return {
    ...{ number, seq: number, session_id: 's', agent: 'a', key: 'k', attempt: 1, model: 'm', at: 0 },
    ...{ status: 'open', response_status: null, request_id: null, first_byte_ms: null, duration_ms: null, stop: null },
    ...{ usage: null, usd: null, estimated: false, response: null, partial_text: '', error: null, proof: 'sent' },
    request: { system: 'Be brief.', messages, tools: [], settings: {} },
  }
}

test('L104 messages of an earlier request are not repeated, and those that a hook has changed are shown', () => {
  const options = { style: plainStyle(80), wrap: false, full: false, before: request(1, 'one', 'two') }
  const grown = requestLines(request(2, 'one', 'two', 'three'), options).join('\n')
  expect(grown).toContain('2 messages as in request 1')
  expect(grown).toContain('three')
  expect(grown).not.toContain('two')
  const changed = requestLines(request(2, 'one', 'TWO', 'three'), options).join('\n')
  expect(changed).toContain('1 message as in request 1')
  expect(changed).toContain('TWO')
})
