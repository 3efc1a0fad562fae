import { expect, test } from 'vitest'
import { readTeamFile } from '../src/formats/team-tree.ts'
import type { ModelRequest } from '../src/index.ts'
import type { Replies, Reply } from './team-scene.ts'
import { answering, playTeam, textIn } from './team-scene.ts'

/*
 * The teams that the specification shows, from their files, offline: who has a turn, in order. A turn is the sentences of
 * the rules that it makes true, and the variables it sets.
 */

type Turn = { holds?: readonly string[]; sets?: Record<string, unknown>; fails?: true; says?: Record<string, unknown> }

const yes = (...holds: string[]): Turn => ({ holds })

/** An answer that judges every sentence it was asked: those of this turn hold, no other does. */
function play(name: string, turns: readonly Turn[]): (turn: number, request: ModelRequest) => Reply {
  return (number, request) => {
    const { holds = [], sets, fails, says } = turns[number - 1] ?? turns.at(-1) ?? {}
    if (fails) return Object.assign(new Error('it broke'), { status: 404 })
    if (says) return { response: `${name} ${number}`, ...says }
    const asked = textIn(request).matchAll(/^(\d+)\. (.*)$/gm)
    const verdicts = [...asked].map(([, index, text = '']) => ({
      condition: Number(index),
      holds: holds.includes(text),
    }))
    for (const sentence of holds) {
      if (!textIn(request).includes(sentence)) throw new Error(`${name} was not asked whether '${sentence}'`)
    }
    return { response: `${name} ${number}`, verdicts, ...(sets ? { variables: sets } : undefined) }
  }
}

async function route(file: string, cast: Record<string, readonly Turn[]>, ...answers: string[]): Promise<string> {
  const { team, problems } = await readTeamFile(`examples/teams/${file}.yaml`)
  expect(problems.filter(({ severity }) => severity === 'error')).toEqual([])
  const replies: Replies = Object.fromEntries(Object.entries(cast).map(([name, turns]) => [name, play(name, turns)]))
  let scene = await playTeam(team, replies)
  for (const answer of answers) scene = await answering(scene, answer)
  expect(scene.result.error).toBeNull()
  expect(scene.output === null || scene.output.totals.router_calls === 0).toBe(true)
  const parked = scene.result.status === 'waiting' ? ['user'] : []
  return [...scene.route, ...parked].join(' ')
}

test('TM1 section 1.1: a content team goes from one to the next and returns to the user', async () => {
  const cast = {
    researcher: [yes('the findings are gathered')],
    writer: [yes('the draft is written')],
    reviewer: [yes('the text is good enough to publish')],
    publisher: [{}],
  }
  expect(await route('content-team', cast)).toBe('researcher writer reviewer publisher user')
})

test('TM1 section 1.2: sequential, iterative, parallel and consensus', async () => {
  const sequential = { researcher: [{}], writer: [{}], reviewer: [{}], publisher: [{}] }
  expect(await route('sequential', sequential)).toBe('researcher writer reviewer publisher')
  const iterative = {
    writer: [{}],
    reviewer: [{ sets: { approved: false } }, { sets: { approved: true } }],
    publisher: [{}],
  }
  expect(await route('iterative', iterative)).toBe('writer reviewer writer reviewer publisher')
  const parallel = {
    ...{ researcher_a: [{}], researcher_b: [{}], researcher_c: [{}] },
    writer: [yes('the text covers all three topics')],
    reviewer: [{}],
  }
  expect(await route('parallel', parallel)).toBe('research writer reviewer')
  const vote = (recommendation: string) => [{ says: { recommendation, confidence: 0.9, concerns: [], questions: [] } }]
  const consensus = {
    ...{ expert_a: vote('Do it.'), expert_b: vote('Do it.'), expert_c: vote('Wait.') },
    synthesizer: [{}],
  }
  expect(await route('consensus', consensus)).toBe('experts synthesizer')
})

test('TM6 section 3.2 and 3.3: priorities, and every type of condition', async () => {
  const review = {
    writer: [yes('draft is complete', 'ready for review')],
    reviewer: [
      yes('feedback has been provided', 'revisions are needed'),
      yes('feedback has been provided', 'revisions are needed', 'content is approved for publication'),
    ],
    publisher: [{}],
  }
  expect(await route('draft-and-review', review)).toBe('writer reviewer writer reviewer publisher user')
  const types = {
    scout: [{ holds: ['research batch complete'], sets: { source_count: 5 } }],
    analyst: [{ holds: ['ready for review'], sets: { confidence_score: 0.9 } }],
    drafter: [
      { holds: ['draft complete', 'all sections included'], sets: { word_count: 900 } },
      yes('draft is finished'),
    ],
    critic: [yes('needs revision'), yes('all requirements are satisfied')],
    closer: [yes('no errors found')],
  }
  expect(await route('condition-types', types)).toBe('scout analyst drafter critic drafter critic closer user')
  const low = { ...types, scout: [{ holds: ['research batch complete'], sets: { source_count: 4 } }] }
  expect(await route('condition-types', low)).toBe('scout user')
})

test('TM8 section 4.3: variables of the configuration and of agents', async () => {
  const cast = (source_count: number) => ({
    researcher: [{ holds: ['research complete'], sets: { source_count, confidence: 0.5 } }],
    writer: [{}],
  })
  expect(await route('context-variables', cast(5))).toBe('researcher writer user')
  expect(await route('context-variables', cast(4))).toBe('researcher user')
})

test('TM1 section 5: stages, branches and quality gates', async () => {
  const stages = {
    coordinator: [yes('research phase needed')],
    researcher: [yes('raw data collected', 'needs analysis')],
    analyst: [yes('analysis complete', 'insights ready')],
    writer: [yes('draft complete')],
    reviewer: [yes('revisions needed'), yes('content approved')],
    publisher: [{}],
  }
  expect(await route('multi-stage', stages)).toBe(
    'coordinator researcher analyst writer reviewer writer reviewer publisher user',
  )
  const branches = (first: string) => ({
    analyzer: [yes(first), yes('analysis shows simple topic')],
    researcher: [yes('the missing data is there')],
    simple_writer: [{}],
    expert_writer: [{}],
  })
  expect(await route('branching', branches('analysis shows complex topic requiring expertise'))).toBe(
    'analyzer expert_writer user',
  )
  expect(await route('branching', branches('insufficient data for analysis'))).toBe(
    'analyzer researcher analyzer simple_writer user',
  )
  const gates = (...scores: number[]) => ({
    writer: [{ holds: ['draft complete'], sets: { word_count: 600 } }],
    reviewer: scores.map((quality_score) => ({ sets: { quality_score } })),
    publisher: [{}],
  })
  expect(await route('quality-gates', gates(0.5, 0.9))).toBe('writer reviewer writer reviewer publisher user')
})

test('TM8 section 6: load, expertise, synchronisation and dependencies', async () => {
  const left = [yes('this piece is written', 'others are left')]
  const load = { coordinator: [yes('writing needed'), yes('writing needed'), {}], writer_a: left, writer_b: left }
  expect(await route('load-balancing', load)).toBe('coordinator writer_b coordinator writer_a coordinator user')
  const lines = {
    researcher_a: [yes('research_a complete')],
    researcher_b: [yes('research_a complete', 'research_b complete')],
    synthesizer: [{}],
  }
  expect(await route('synchronisation', lines)).toBe('researcher_a researcher_b synthesizer')
  const expertise = { triager: [yes('topic requires creative approach')], creative_writer: [{}] }
  expect(await route('expertise', expertise)).toBe('triager creative_writer user')
  expect(
    await route('dependencies', {
      requirements_analyst: [{ holds: ['requirements complete'], sets: { requirements_complete: true } }],
      architect: [yes('architecture approved')],
      developer: [{}],
    }),
  ).toBe('requirements_analyst architect developer user')
})

test('TM15 section 7: an error handler, a person, and checks of quality', async () => {
  const cast = {
    importer: [{ fails: true as const }, yes('the data is read in')],
    error_handler: [yes('error resolved', 'retry possible')],
    transformer: [{}],
  }
  expect(await route('error-recovery', cast)).toBe('importer error_handler importer transformer user')
  const helpless = { ...cast, error_handler: [yes('error requires human intervention')] }
  expect(await route('error-recovery', helpless)).toBe('importer error_handler supervisor user')
  const checks = {
    writer: [yes('draft complete')],
    quality_checker: [yes('quality issues found'), yes('quality standards met')],
    reviewer: [{}],
  }
  expect(await route('quality-checks', checks)).toBe('writer quality_checker writer quality_checker reviewer user')
})
