import { describe, expect, test } from 'vitest'
import { requestsFrom, runTeam } from '../../../test/support/team-harness.ts'
import { agent, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { Embedder } from '../../kernel/embedder.ts'
import { isEvent } from '../../kernel/event.ts'

describe('open roles', () => {
  const roster = [
    agent('poet', { description: 'Writes poems and songs' }),
    agent('db-expert', { description: 'Knows databases, indexes and queries', instructions: 'Think in tables.' }),
    agent('sql-reviewer', { description: 'Reviews SQL queries' }),
  ]
  const team = {
    name: 'Formed',
    form: {
      roles: [
        { name: 'designer', role: 'designs databases' },
        { name: 'checker', role: 'reviewing of queries' },
      ],
    },
    handoffs: [{ from_agent: 'designer', to_agent: 'checker' }],
    after_work_behavior: 'terminate' as const,
  }

  test('TM14 without an embedder open roles are filled from the roster by matching words, and the choice is recorded', async () => {
    const options = { agents: roster, embedder: false as const }
    const run = await runTeam(team, { designer: ['tables'], checker: ['checked'] }, options)
    expect(run.route).toEqual(['designer', 'checker'])
    const start = run.events.find((event) => isEvent(event, 'team:start'))
    expect(start?.data).toMatchObject({
      filled_roles: [
        { name: 'designer', uses: 'db-expert', method: 'words', by: expect.arrayContaining(['databas']) },
        { name: 'checker', uses: 'sql-reviewer', method: 'words', by: expect.arrayContaining(['review']) },
      ],
    })
    expect(run.events.some((event) => isEvent(event, 'step:end') && event.data.key === 'form')).toBe(true)
    const [request] = requestsFrom(run, 'designer')
    expect(request && lastMessageText(request)).toContain('Think in tables.')
  })

  /** Two dimensions: poetry, and everything else. Roles of this team come close to the poet. */
  const poeticEmbedder = (): Embedder & { calls: string[][] } => {
    const calls: string[][] = []
    const toVector = (text: string) =>
      /poet|design/.test(text) ? [1, 0] : /review|check/.test(text) ? [0.6, 0.8] : [0, 1]
    return {
      ...{ id: 'poetic', threshold: 0.8, calls },
      async embed(texts) {
        calls.push([...texts])
        return texts.map((text) => Float32Array.from(toVector(text)))
      },
    }
  }
  const replies = { designer: ['tables', 'tables'], checker: ['checked', 'checked'] }

  test('TM14 with an embedder the most similar agent fills a role, and neither a replay nor a second run embeds again', async () => {
    const embedder = poeticEmbedder()
    const run = await runTeam(team, replies, { agents: roster, embedder })
    const start = run.events.find((event) => isEvent(event, 'team:start'))
    expect(start?.data.filled_roles).toEqual([
      { name: 'designer', uses: 'poet', method: 'embeddings', by: [], similarity: 1 },
      { name: 'checker', uses: 'sql-reviewer', method: 'embeddings', by: [], similarity: 1 },
    ])
    // The texts of all agents once, then the roles.
    const [agentTexts = [], ...roles] = embedder.calls
    expect(new Set(agentTexts).size).toBe(agentTexts.length)
    expect(agentTexts).toEqual(
      expect.arrayContaining(['poet: Writes poems and songs', 'db expert', 'Reviews SQL queries']),
    )
    expect(roles.map((texts) => texts.length)).toEqual([2])
    expect(await run.troupe.replay(run.result.run_id)).toMatchObject({ same: true })
    expect(embedder.calls).toHaveLength(2)
    await run.troupe.run('team', { team, message: 'Again.' })
    expect(embedder.calls.slice(1).map((texts) => texts.length)).toEqual([2, 2])
  })

  test('TM14 a sentence that fits counts, whatever else a description has', async () => {
    const embedder: Embedder = {
      ...{ id: 'narrow', threshold: 0.8 },
      // Of a long text, only a part is about its subject.
      async embed(texts) {
        const toVector = (text: string) => {
          const sql = Number(/quer/.test(text))
          return text.length > 60 ? [sql / 2, 1] : [sql, 0.1]
        }
        return texts.map((text) => Float32Array.from(toVector(text)))
      },
    }
    const vague = 'Sends letters to whoever asks for them, with or without queries of theirs, in any language'
    const long = 'Plans journeys over land and over sea. Books hotels for groups. Corrects queries. Keeps calendars.'
    const agents = [agent('clerk', { description: vague }), agent('aide', { description: long })]
    const formed = { ...team, handoffs: [], form: { roles: [{ name: 'checker', role: 'looks at queries' }] } }
    const run = await runTeam(formed, { checker: ['checked'] }, { agents, embedder })
    const start = run.events.find((event) => isEvent(event, 'team:start'))
    expect(start?.data.filled_roles).toMatchObject([{ uses: 'aide', method: 'embeddings' }])
  })

  test('TM14 when the embedder fails, words decide, with a warning in team:start', async () => {
    const embed = () => Promise.reject(new Error('out of memory'))
    const embedder = { id: 'broken', threshold: 0.8, embed }
    const run = await runTeam(team, replies, { agents: roster, embedder })
    const start = run.events.find((event) => isEvent(event, 'team:start'))
    expect(start?.data).toMatchObject({
      filled_roles: [{ uses: 'db-expert', method: 'words' }, { uses: 'sql-reviewer' }],
      warnings: ['the embedder failed, so open roles were filled by words: out of memory'],
    })
  })

  test('TM14 a role that no agent fits, or more roles than max_agents, is rejected', async () => {
    const roles = [{ name: 'pilot', role: 'flies aeroplanes' }]
    const noMatch = runTeam({ ...team, handoffs: [], form: { roles } }, {}, { agents: roster })
    await expect(noMatch).rejects.toMatchObject({
      code: 'unknown_agent',
      alternatives: expect.arrayContaining(['poet', 'db-expert']),
    })
    const many = runTeam({ ...team, form: { ...team.form, max_agents: 1 } }, {}, { agents: roster })
    await expect(many).rejects.toThrow(/`form.roles` has 2 roles, but `form.max_agents` is 1/)
  })
})
