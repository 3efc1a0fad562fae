import { expect, test } from 'vitest'
import { answerJson, asker, consultCall } from '../../../../test/support/consult-replies.ts'
import { createConsultTroupe } from '../../../../test/support/consultation.ts'

test('CS218 the panel lists consultations with their context; the report by pair has the heat map of the project', async () => {
  const { task, troupe } = await createConsultTroupe({
    asking: asker(
      () => [consultCall('What fields has the User model?', { urgency: 'high' })],
      () => [consultCall('And the Order model?')],
    ),
    answering: answerJson('id and name'),
  })
  const { run_id } = await task('asking', 'go')
  const { panels } = await troupe.panels(run_id)
  const panel = panels.find(({ id }) => id === 'consultations')
  expect(panel?.badge).toBe('2')
  const [table, matrix, ...rest] = panel?.blocks ?? []
  expect(table).toMatchObject({
    kind: 'table',
    rows: [
      { asker: 'asking', specialist: 'answering', status: 'resolved', urgency: 'high', exchanges: 1 },
      { asker: 'asking', specialist: 'answering', status: 'resolved' },
    ],
  })
  expect(matrix).toMatchObject({ kind: 'matrix', rows: ['asking'], columns: ['answering'], values: [[2]] })
  expect(rest).toContainEqual(
    expect.objectContaining({ kind: 'text', title: 'Answer', text: 'id and name', claimed_by: 'answering' }),
  )
  expect(rest.some((block) => block.title?.startsWith('Context for answering: '))).toBe(true)
  const [report] = await troupe.reports({ pattern: 'consult', by: 'pair' })
  expect(report?.blocks).toEqual([expect.objectContaining({ kind: 'matrix', values: [[2]] })])
  await troupe.close()
})

test('CS218 what a cancelled run did not finish has failed, also if the specialist asked back', async () => {
  const asked = Promise.withResolvers<void>()
  let questions = 0
  const { troupe } = await createConsultTroupe({
    asking: asker(
      () => [consultCall('Which version?')],
      () => [consultCall('Which fields?')],
    ),
    answering: () => {
      if (++questions === 1) return { text: '{"clarification_needed":"Of what?"}' }
      asked.resolve()
      return new Promise(() => {})
    },
  })
  const handle = await troupe.stream('task', { agent: 'asking', instruction: 'go' })
  await asked.promise
  const states = async () => {
    const { panels } = await troupe.panels(handle.run_id)
    const [table] = panels.find(({ id }) => id === 'consultations')?.blocks ?? []
    return table?.kind === 'table' ? table.rows.map(({ status }) => status) : []
  }
  expect(await states()).toEqual(['in_progress', 'in_progress'])
  await handle.cancel()
  expect(await states()).toEqual(['failed', 'failed'])
  await troupe.close()
})
