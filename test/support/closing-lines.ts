// The test report: vitest's own, then every skipped test with its reason, then one plain line with the counts.
import { DefaultReporter } from 'vitest/node'
import type { TestCase, TestModule } from 'vitest/node'

export default class ClosingLines extends DefaultReporter {
  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: Parameters<DefaultReporter['onTestRunEnd']>[1],
    reason: Parameters<DefaultReporter['onTestRunEnd']>[2],
  ): void {
    super.onTestRunEnd(modules, errors, reason)
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const skipped = tests.filter((test) => test.result().state === 'skipped')
    for (const test of skipped) console.log(`SKIPPED: ${test.fullName}: ${reasonOf(test)}`)
    const passed = tests.filter((test) => test.result().state === 'passed').length
    const failedModules = modules.filter((module) => module.errors().length > 0).length
    const failed =
      tests.filter((test) => test.result().state === 'failed').length + failedModules + errors.length
    console.log(`tests: ${passed} passed, ${failed} failed, ${skipped.length} skipped`)
  }
}

function reasonOf(test: TestCase): string {
  const result = test.result()
  return (result.state === 'skipped' && result.note) || 'no reason given'
}
