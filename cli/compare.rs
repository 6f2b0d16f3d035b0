//! `etwas compare`: a baseline set of traces against a candidate set, by the answers to one question.

use etwas_queries::compare::{Compared, Comparison};
use etwas_queries::run::{self, Answerable};

use crate::args::Compare;
use crate::output::{self, Failure, note};
use crate::report;
use crate::{OK, TROUBLE};

/// Compares.
pub fn run(args: &Compare) -> Result<u8, Failure> {
    // An unknown question is told before a missing lake is.
    let question = run::find(etwas_queries::catalog(), &args.question)?;
    if args.parameters.iter().any(|(name, _)| name == "trace") {
        return Err(Failure(
            "parameter 'trace' is what --baseline and --candidate say\n\
             hint: etwas compare --baseline GLOB --candidate GLOB"
                .into(),
        ));
    }
    let lake = output::open(&args.lake.lake, args.output.output.as_deref())?;
    let wanted = Comparison {
        question: args.question.clone(),
        parameters: args.parameters.clone(),
        baseline: args.baseline.clone(),
        candidate: args.candidate.clone(),
        limit: args.output.limit,
        fail_if: args.fail_if.clone(),
    };
    let done = output::deliver(&args.output, |target| lake.compare(&wanted, target))?;
    tell(&args.question, &done);
    for caution in
        lake.cautions(question, &[done.baseline.clone(), done.candidate.clone()].concat())?
    {
        note(&caution);
    }
    if done.failed > 0 {
        note(&format!("{} rows meet the condition", done.failed));
    }
    let failed = args.fail_if.is_some() && (done.failed > 0 || done.unanswered().is_some());
    Ok(if failed { TROUBLE } else { OK })
}

/// Says on standard error which traces were compared, and what keeps others out.
fn tell(question: &str, done: &Compared) {
    if let Some((side, traces)) = done.unanswered() {
        note(&format!("not comparable: no trace of the {side} can answer {question}"));
        report::tell_missing(traces);
        return;
    }
    let can = |traces: &[Answerable]| traces.iter().filter(|t| t.missing.is_empty()).count();
    for (side, traces) in [("baseline", &done.baseline), ("candidate", &done.candidate)] {
        let (can, all) = (can(traces), traces.len());
        let lacking = if can < all {
            format!(
                " of {all}; the others cannot answer\n\
                 hint: etwas report answerable -p question={question} tells what they lack"
            )
        } else {
            String::new()
        };
        note(&format!("{side}: {can} {}{lacking}", if can == 1 { "trace" } else { "traces" }));
    }
    if can(&done.baseline) < 2 || can(&done.candidate) < 2 {
        note("no confidence interval: it takes two traces on each side");
    }
    if done.rows == 0 {
        note("nothing found");
    }
}
