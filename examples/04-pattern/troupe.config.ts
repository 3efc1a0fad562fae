import { defineConfig } from 'troupe'
import { review } from './review.ts'

// In this folder the command line knows the pattern: `troupe run review --help`, `troupe show RUN`.
const agent = (name: string) => ({ name, description: `the ${name}`, instructions: `You are the ${name}.` })

export default defineConfig({
  model: 'scripted:script.json',
  agents: ['author', 'editor', 'lawyer', 'engineer'].map(agent),
  patterns: [review],
})
