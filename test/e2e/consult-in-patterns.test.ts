import { expect, test } from 'vitest'
import { answerJson, asker, consultCall } from '../support/consult-replies.ts'
import { CONSULT_TOOLS, createConsultTroupe } from '../support/consultation.ts'
import { agent } from '../support/test-troupe.ts'

const ask = asker(() => [consultCall('Which fields has the user?')])

test('CS43 the agents of a collaboration consult, each in its own name', async () => {
  const { troupe } = await createConsultTroupe({
    asking: ask,
    checking: ask,
    answering: answerJson('id'),
    coordinator: { text: 'Both say id.' },
  })
  const { status } = await troupe.run('collaborate', {
    task: 'Plan the page.',
    agents: [{ name: 'asking' }, { name: 'checking' }],
  })
  expect(status).toBe('completed')
  const rows = await troupe.query({ table: 'agent_collaborations' }).all()
  expect(
    rows
      .map(({ requesting_agent, specialist_agent, status: ended }) => [requesting_agent, specialist_agent, ended])
      .sort(),
  ).toEqual([
    ['asking', 'answering', 'resolved'],
    ['checking', 'answering', 'resolved'],
  ])
})

test('CS43 a member of a team consults in the background, and the answer is delivered before its turn ends', async () => {
  const replies: string[] = []
  const { troupe } = await createConsultTroupe({
    writer: (request) => {
      if (request.session.turn === 1) return { calls: [consultCall('Which fields?', { background: true })] }
      replies.push(JSON.stringify(request.messages.at(-1)))
      return { text: 'Written.' }
    },
    answering: answerJson('id and name'),
  })
  const team = {
    name: 'shop',
    agents: [{ ...agent('writer'), tools: CONSULT_TOOLS }],
    after_work_behavior: 'terminate',
  }
  const { status } = await troupe.run('team', { team, message: 'Write it.' } as never)
  expect(status).toBe('completed')
  expect(replies.join()).toContain('id and name')
  const [row] = await troupe.query({ table: 'agent_collaborations' }).all()
  expect(row).toMatchObject({ requesting_agent: 'writer', status: 'resolved' })
})
