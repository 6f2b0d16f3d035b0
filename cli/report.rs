//! `etwas report` and `etwas sql`.

use std::io::Read;

use etwas_queries::pivot::Pivot;
use etwas_queries::run::{Answerable, Outcome, Request, Sink, Target};
use etwas_queries::{Error, Lake, needs, run};

use crate::args::{Report, Sql};
use crate::output::{self, Failure, note};
use crate::{OK, TROUBLE, explain};

/// Puts a question.
pub fn run(args: &Report) -> Result<u8, Failure> {
    let Some(name) = &args.name else {
        if args.help {
            return explain::report_usage();
        }
        return Err(Failure("no question named\nhint: etwas reports lists them".into()));
    };
    if args.help {
        return explain::question(run::find(etwas_queries::catalog(), name)?);
    }
    // An unknown question is told before a missing lake is.
    let question = run::find(etwas_queries::catalog(), name)?;
    let lake = output::open(&args.lake.lake, args.output.output.as_deref())?;
    let request = Request {
        name: name.clone(),
        parameters: args.parameters.clone(),
        trace: args.trace.clone(),
        limit: args.output.limit,
        fail_if: args.fail_if.clone(),
    };
    let outcome = output::deliver(&args.output, |target| {
        match (Pivot::of(question).filter(|_| args.output.format.is_for_people()), target) {
            (Some(pivot), Target::Sink(sink)) => turned(&lake, request, pivot, sink),
            (_, target) => lake.ask(&request, target),
        }
    })?;
    tell(name, &outcome);
    for caution in lake.cautions(question, &outcome.traces)? {
        note(&caution);
    }
    let gate = args.fail_if.is_some();
    let failed = gate && (outcome.failed > 0 || outcome.not_answerable());
    if outcome.failed > 0 {
        note(&format!("{} rows meet the condition", outcome.failed));
    }
    Ok(if failed { TROUBLE } else { OK })
}

/// Puts a question and turns the answer around; the limit is one of turned rows.
fn turned(
    lake: &Lake,
    request: Request,
    pivot: Pivot,
    sink: &mut dyn Sink,
) -> Result<Outcome, Error> {
    let mut answer = pivot.sink();
    let limit = request.limit;
    let whole = Request { limit: None, ..request };
    let mut outcome = lake.ask(&whole, Target::Sink(&mut answer))?;
    outcome.rows = answer.deliver(limit, sink)?;
    Ok(outcome)
}

/// Says on standard error how far the question could be answered at all.
fn tell(name: &str, outcome: &Outcome) {
    let (can, all) = (outcome.could_answer(), outcome.traces.len());
    if all == 0 {
        note("the lake holds no traces");
    } else if outcome.not_answerable() {
        tell_missing(&outcome.traces);
    } else {
        if can < all {
            note(&format!(
                "{can} of {all} traces can answer\n\
                 hint: etwas report answerable -p question={name} tells what the others lack"
            ));
        }
        if outcome.rows == 0 {
            note("nothing found");
        }
    }
}

/// Says what traces lack of which none can answer.
pub fn tell_missing(traces: &[Answerable]) {
    let missing = run::missing(traces);
    let which = match traces.len() {
        1 => "the trace has".into(),
        all => format!("none of {all} traces has"),
    };
    note(&format!("not answerable, because {which} no {}", missing.join(", no ")));
    let hints: Vec<String> = missing.iter().map(|need| needs::hint(need)).collect();
    note(&format!("hint: record {}", unique(hints).join("; ")));
}

fn unique(list: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for item in list {
        if !out.contains(&item) {
            out.push(item);
        }
    }
    out
}

/// Runs ad-hoc SQL.
pub fn sql(args: &Sql) -> Result<u8, Failure> {
    let text = match (&args.query, &args.file) {
        (Some(query), _) => query.clone(),
        (None, Some(file)) if file.as_os_str() == "-" => {
            let mut text = String::new();
            std::io::stdin()
                .lock()
                .read_to_string(&mut text)
                .map_err(|e| Failure(format!("cannot read standard input: {e}")))?;
            text
        }
        (None, Some(file)) => std::fs::read_to_string(file)
            .map_err(|e| Failure(format!("cannot read {}: {e}", file.display())))?,
        (None, None) => String::new(),
    };
    let lake = output::open(&args.lake.lake, args.output.output.as_deref())?;
    output::deliver(&args.output, |target| lake.sql(&text, args.output.limit, target))?;
    Ok(OK)
}
